// Plans and the agreement on them on the wire: proto/plan.capnp.

#include "proto/codec_pieces.hpp"

namespace perigee::wire {

namespace limits = codec_limits;

void write(Member::Builder to, const member& from) {
  const auto& [peer, slice_first, slice_count, workers] = from;
  to.setPeer(peer.value);
  to.setSliceFirst(slice_first);
  to.setSliceCount(slice_count);
  to.setWorkers(workers);
}

member read(Member::Reader from) {
  return {peer_id{from.getPeer()}, from.getSliceFirst(), from.getSliceCount(), from.getWorkers()};
}

void write(Stage::Builder to, const stage& from) {
  const auto& [layer_first, layer_count, in_flight_max, group] = from;
  to.setLayerFirst(layer_first);
  to.setLayerCount(layer_count);
  to.setInFlightMax(in_flight_max);
  write_all(to.initGroup(count_of(group)), group);
}

stage read(Stage::Reader from) {
  return {from.getLayerFirst(), from.getLayerCount(), from.getInFlightMax(),
          read_all<member>(from.getGroup(), limits::peers_max, "members of a group")};
}

void write(Plan::Builder to, const plan& from) {
  const auto& [job, epoch, schedule, stages, predicted_step] = from;
  write(to.initJob(), job.value);
  to.setEpoch(epoch);
  to.setSchedule(in_capnp<ScheduleKind>(schedule));
  write_all(to.initStages(count_of(stages)), stages);
  to.setPredictedStepNs(predicted_step.count());
}

plan read(Plan::Reader from) {
  return {read_job(from.getJob()), from.getEpoch(),
          read_enum(from.getSchedule(), schedule_kind::one_f_one_b, "schedule"),
          read_all<stage>(from.getStages(), limits::layers_max, "stages"),
          duration{from.getPredictedStepNs()}};
}

void write(Proposal::Builder to, const proposal& from) {
  const auto& [what, base_step] = from;
  write(to.initWhat(), what);
  to.setBaseStep(base_step);
}

proposal read(Proposal::Reader from) { return {read(from.getWhat()), from.getBaseStep()}; }

void write(Acceptance::Builder to, const acceptance& from) {
  const auto& [job, epoch, plan_digest] = from;
  write(to.initJob(), job.value);
  to.setEpoch(epoch);
  to.setPlanDigest(plan_digest);
}

acceptance read(Acceptance::Reader from) {
  return {read_job(from.getJob()), from.getEpoch(), from.getPlanDigest()};
}

void write(Refusal::Builder to, const refusal& from) {
  const auto& [job, epoch, plan_digest, why, needed, offered] = from;
  write(to.initJob(), job.value);
  to.setEpoch(epoch);
  to.setPlanDigest(plan_digest);
  write(to.initWhy(), why);
  to.setNeeded(needed.count);
  to.setOffered(offered.count);
}

refusal read(Refusal::Reader from) {
  return {read_job(from.getJob()), from.getEpoch(),    from.getPlanDigest(),
          read(from.getWhy()),     {from.getNeeded()}, {from.getOffered()}};
}

void write(Commitment::Builder to, const commitment& from) {
  const auto& [what] = from;
  write(to.initWhat(), what);
}

commitment read(Commitment::Reader from) { return {read(from.getWhat())}; }

}  // namespace perigee::wire
