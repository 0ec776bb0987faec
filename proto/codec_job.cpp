// Jobs on the wire: proto/job.capnp, and what all schemas share.

#include "proto/codec_pieces.hpp"

namespace perigee::wire {

namespace limits = codec_limits;

void write(Digest::Builder to, const digest128& from) {
  const auto& [high, low] = from;
  to.setHigh(high);
  to.setLow(low);
}

digest128 read(Digest::Reader from) { return {from.getHigh(), from.getLow()}; }

void write(Error::Builder to, const error& from) {
  const auto& [code, what] = from;
  to.setCode(in_capnp<ErrorCode>(code));
  to.setWhat(in_capnp(cut(what)));
}

error read(Error::Reader from) {
  return {read_enum(from.getCode(), errc::io, "error code"),
          read_text(from.getWhat(), limits::text_max, "reason")};
}

void write(ModelSpec::Builder to, const model_spec& from) {
  const auto& [kind, hidden, stages, width, blocks, heads, context, dropout, file, content] = from;
  to.setKind(in_capnp<ModelKind>(kind));
  write_all(to.initHidden(count_of(hidden)), hidden);
  write_all(to.initStages(count_of(stages)), stages);
  to.setWidth(width);
  to.setBlocks(blocks);
  to.setHeads(heads);
  to.setContext(context);
  to.setDropout(dropout);
  to.setFile(in_capnp(file));
  write(to.initContent(), content);
}

model_spec read(ModelSpec::Reader from) {
  return {read_enum(from.getKind(), model_kind::onnx, "kind of model"),
          read_all<std::uint32_t>(from.getHidden(), limits::layers_max, "hidden layers"),
          read_all<std::uint32_t>(from.getStages(), limits::layers_max, "resolutions"),
          from.getWidth(),
          from.getBlocks(),
          from.getHeads(),
          from.getContext(),
          from.getDropout(),
          read_text(from.getFile(), limits::text_max, "path of a model"),
          read(from.getContent())};
}

void write(DataSpec::Builder to, const data_spec& from) {
  const auto& [kind, path, labels_path, content, validation_count, validation_permille, scale, mean,
               deviation] = from;
  to.setKind(in_capnp<DataKind>(kind));
  to.setPath(in_capnp(path));
  to.setLabelsPath(in_capnp(labels_path));
  write(to.initContent(), content);
  to.setValidationCount(validation_count);
  to.setValidationPermille(validation_permille);
  to.setScale(scale);
  to.setMean(mean);
  to.setDeviation(deviation);
}

data_spec read(DataSpec::Reader from) {
  return {read_enum(from.getKind(), data_kind::cifar100, "kind of data"),
          read_text(from.getPath(), limits::text_max, "path of data"),
          read_text(from.getLabelsPath(), limits::text_max, "path of labels"),
          read(from.getContent()),
          from.getValidationCount(),
          from.getValidationPermille(),
          from.getScale(),
          from.getMean(),
          from.getDeviation()};
}

void write(OptimizerSpec::Builder to, const optimizer_spec& from) {
  const auto& [kind, learning_rate, momentum, nesterov, weight_decay, beta1, beta2, epsilon] = from;
  to.setKind(in_capnp<OptimizerKind>(kind));
  to.setLearningRate(learning_rate);
  to.setMomentum(momentum);
  to.setNesterov(nesterov);
  to.setWeightDecay(weight_decay);
  to.setBeta1(beta1);
  to.setBeta2(beta2);
  to.setEpsilon(epsilon);
}

optimizer_spec read(OptimizerSpec::Reader from) {
  return {read_enum(from.getKind(), optimizer_kind::adamw, "kind of optimizer"),
          from.getLearningRate(),
          from.getMomentum(),
          from.getNesterov(),
          from.getWeightDecay(),
          from.getBeta1(),
          from.getBeta2(),
          from.getEpsilon()};
}

void write(RateSpec::Builder to, const rate_spec& from) {
  const auto& [kind, warmup_steps, floor] = from;
  to.setKind(in_capnp<RateKind>(kind));
  to.setWarmupSteps(warmup_steps);
  to.setFloor(floor);
}

rate_spec read(RateSpec::Reader from) {
  return {read_enum(from.getKind(), rate_kind::cosine, "kind of rate"), from.getWarmupSteps(),
          from.getFloor()};
}

void write(Specification::Builder to, const specification& from) {
  const auto& [model, data, optimizer, rate, seed, steps, mini_batch, micro_batch, slice, clip_norm,
               isa, initial_weights, initial_content, run] = from;
  write(to.initModel(), model);
  write(to.initData(), data);
  write(to.initOptimizer(), optimizer);
  write(to.initRate(), rate);
  to.setSeed(seed);
  to.setSteps(steps);
  to.setMiniBatch(mini_batch);
  to.setMicroBatch(micro_batch);
  to.setSlice(slice);
  to.setClipNorm(clip_norm);
  to.setIsa(in_capnp(isa));
  to.setInitialWeights(in_capnp(initial_weights));
  write(to.initInitialContent(), initial_content);
  to.setRun(in_capnp(run));
}

specification read(Specification::Reader from) {
  return {read(from.getModel()),
          read(from.getData()),
          read(from.getOptimizer()),
          read(from.getRate()),
          from.getSeed(),
          from.getSteps(),
          from.getMiniBatch(),
          from.getMicroBatch(),
          from.getSlice(),
          from.getClipNorm(),
          read_text(from.getIsa(), limits::name_max, "name of an instruction set"),
          read_text(from.getInitialWeights(), limits::text_max, "path of weights"),
          read(from.getInitialContent()),
          read_text(from.getRun(), limits::name_max, "name of a run")};
}

void write(Wishes::Builder to, const wishes& from) {
  const auto& [name, stages, replicas, shares, order, schedule] = from;
  to.setName(in_capnp(name));
  to.setStages(stages);
  write_all(to.initReplicas(count_of(replicas)), replicas);
  write_all(to.initShares(count_of(shares)), shares);
  write_all(to.initOrder(count_of(order)), order);
  to.setSchedule(in_capnp<ScheduleKind>(schedule));
}

wishes read(Wishes::Reader from) {
  return {read_text(from.getName(), limits::name_max, "name of a job"),
          from.getStages(),
          read_all<std::uint32_t>(from.getReplicas(), limits::layers_max, "replica counts"),
          read_all<std::uint32_t>(from.getShares(), limits::peers_max, "shares"),
          read_all<peer_id>(from.getOrder(), limits::peers_max, "peers in order"),
          read_enum(from.getSchedule(), schedule_kind::one_f_one_b, "schedule")};
}

void write(JobRecord::Builder to, const job_record& from) {
  const auto& [job, spec, wanted, after_epoch] = from;
  write(to.initJob(), job.value);
  write(to.initSpec(), spec);
  write(to.initWanted(), wanted);
  to.setAfterEpoch(after_epoch);
}

job_record read(JobRecord::Reader from) {
  return {read_job(from.getJob()), read(from.getSpec()), read(from.getWanted()),
          from.getAfterEpoch()};
}

void write(Submission::Builder to, const submission& from) {
  const auto& [what] = from;
  write(to.initWhat(), what);
}

submission read(Submission::Reader from) { return {read(from.getWhat())}; }

void write(Receipt::Builder to, const receipt& from) {
  const auto& [job, accepted, why] = from;
  write(to.initJob(), job.value);
  to.setAccepted(accepted);
  write(to.initWhy(), why);
}

receipt read(Receipt::Reader from) {
  return {read_job(from.getJob()), from.getAccepted(), read(from.getWhy())};
}

void write(Subscription::Builder to, const subscription& from) {
  const auto& [job] = from;
  write(to.initJob(), job.value);
}

subscription read(Subscription::Reader from) { return {read_job(from.getJob())}; }

}  // namespace perigee::wire
