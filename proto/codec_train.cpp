// A job under way on the wire: proto/train.capnp.

#include "proto/codec_pieces.hpp"

namespace perigee::wire {

namespace limits = codec_limits;

void write(Measurement::Builder to, const measurement& from) {
  const auto& [job, epoch, step, stage, finite, where, values, loss_bits, counted] = from;
  const auto& [layer, micro_batch] = where;
  write(to.initJob(), job.value);
  to.setEpoch(epoch);
  to.setStep(step);
  to.setStage(stage);
  to.setFinite(finite);
  to.setLayer(layer);
  to.setMicroBatch(micro_batch);
  write_all(to.initValues(count_of(values)), values);
  to.setLossBits(loss_bits);
  to.setCounted(counted);
}

measurement read(Measurement::Reader from) {
  return {read_job(from.getJob()),
          from.getEpoch(),
          from.getStep(),
          from.getStage(),
          from.getFinite(),
          {from.getLayer(), from.getMicroBatch()},
          read_all<std::uint64_t>(from.getValues(), limits::values_max, "measured values"),
          from.getLossBits(),
          from.getCounted()};
}

void write(StateReport::Builder to, const state_report& from) {
  const auto& [job, epoch, step, layer_first, states] = from;
  write(to.initJob(), job.value);
  to.setEpoch(epoch);
  to.setStep(step);
  to.setLayerFirst(layer_first);
  write_all(to.initStates(count_of(states)), states);
}

state_report read(StateReport::Reader from) {
  return {read_job(from.getJob()), from.getEpoch(), from.getStep(), from.getLayerFirst(),
          read_all<digest128>(from.getStates(), limits::layers_max, "digests of states")};
}

void write(Halt::Builder to, const halt& from) {
  const auto& [job, epoch, step, why] = from;
  write(to.initJob(), job.value);
  to.setEpoch(epoch);
  to.setStep(step);
  write(to.initWhy(), why);
}

halt read(Halt::Reader from) {
  return {read_job(from.getJob()), from.getEpoch(), from.getStep(), read(from.getWhy())};
}

void write(CommitRecord::Builder to, const commit_record& from) {
  const auto& [job, epoch, step, loss_bits, counted, micro_batches, states] = from;
  write(to.initJob(), job.value);
  to.setEpoch(epoch);
  to.setStep(step);
  to.setLossBits(loss_bits);
  to.setCounted(counted);
  to.setMicroBatches(micro_batches);
  write_all(to.initStates(count_of(states)), states);
}

commit_record read(CommitRecord::Reader from) {
  return {read_job(from.getJob()),
          from.getEpoch(),
          from.getStep(),
          from.getLossBits(),
          from.getCounted(),
          from.getMicroBatches(),
          read_all<digest128>(from.getStates(), limits::layers_max, "digests of states")};
}

void write(PeerWork::Builder to, const peer_work& from) {
  const auto& [peer, micro_batches, sent, received, computing, memory, offered] = from;
  to.setPeer(peer.value);
  to.setMicroBatches(micro_batches);
  to.setSent(sent.count);
  to.setReceived(received.count);
  to.setComputingNs(computing.count());
  to.setMemory(memory.count);
  to.setOffered(offered.count);
}

peer_work read(PeerWork::Reader from) {
  return {peer_id{from.getPeer()}, from.getMicroBatches(),          {from.getSent()},
          {from.getReceived()},    duration{from.getComputingNs()}, {from.getMemory()},
          {from.getOffered()}};
}

void write(Progress::Builder to, const progress& from) {
  const auto& [job, phase, step, steps, last, current, why, work, measured_step] = from;
  write(to.initJob(), job.value);
  to.setPhase(in_capnp<JobPhase>(phase));
  to.setStep(step);
  to.setSteps(steps);
  write(to.initLast(), last);
  write(to.initCurrent(), current);
  write(to.initWhy(), why);
  write_all(to.initWork(count_of(work)), work);
  to.setMeasuredStepNs(measured_step.count());
}

progress read(Progress::Reader from) {
  return {read_job(from.getJob()),
          read_enum(from.getPhase(), job_phase::halted, "phase of a job"),
          from.getStep(),
          from.getSteps(),
          read(from.getLast()),
          read(from.getCurrent()),
          read(from.getWhy()),
          read_all<peer_work>(from.getWork(), limits::peers_max, "accounts of peers"),
          duration{from.getMeasuredStepNs()}};
}

void write(Account::Builder to, const account& from) {
  const auto& [job, work] = from;
  write(to.initJob(), job.value);
  write(to.initWork(), work);
}

account read(Account::Reader from) { return {read_job(from.getJob()), read(from.getWork())}; }

void write(Remark::Builder to, const remark& from) {
  const auto& [job, line] = from;
  write(to.initJob(), job.value);
  to.setLine(in_capnp(cut(line)));
}

remark read(Remark::Reader from) {
  return {read_job(from.getJob()), read_text(from.getLine(), limits::text_max, "remark")};
}

void write(StateRequest::Builder to, const state_request& from) {
  const auto& [job, layer] = from;
  write(to.initJob(), job.value);
  to.setLayer(layer);
}

state_request read(StateRequest::Reader from) { return {read_job(from.getJob()), from.getLayer()}; }

void write(Missing::Builder to, const missing& from) {
  const auto& [job, layer, why] = from;
  write(to.initJob(), job.value);
  to.setLayer(layer);
  write(to.initWhy(), why);
}

missing read(Missing::Reader from) {
  return {read_job(from.getJob()), from.getLayer(), read(from.getWhy())};
}

}  // namespace perigee::wire
