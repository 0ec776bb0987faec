# A job: the specification that alone fixes its weights, and the wishes that do not.

@0x8f7c1e18258ab869;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("perigee::wire");

using Common = import "common.capnp";

enum ModelKind {
  mlp @0;
  resnet @1;
  gpt @2;
  onnx @3;
}

struct ModelSpec {
  # Fields that a kind does not use stay at their defaults.
  kind @0 :ModelKind;
  hidden @1 :List(UInt32);  # mlp: width of each hidden layer
  stages @2 :List(UInt32);  # resnet: residual blocks at each resolution
  width @3 :UInt32;         # resnet: channels of the first resolution; gpt: width
  blocks @4 :UInt32;        # gpt
  heads @5 :UInt32;         # gpt
  context @6 :UInt32;       # gpt, onnx: tokens a sample
  dropout @7 :Float64;      # gpt: probability that an activation is dropped
  file @8 :Text;            # onnx: where the submitter finds it; outside the job's digest
  content @9 :Common.Digest;  # onnx: of the file's bytes; zero until a peer has read them
}

enum DataKind {
  text @0;
  idx @1;
  csv @2;
  npy @3;
  cifar10 @4;
  cifar100 @5;
}

struct DataSpec {
  kind @0 :DataKind;
  path @1 :Text;                # where the submitter finds it; outside the job's digest
  labelsPath @2 :Text;          # idx, npy: labels; outside the job's digest
  content @3 :Common.Digest;    # of the unzipped bytes; zero until a peer has read them
  validationCount @4 :UInt32;   # all but text: the last samples, kept for validation
  validationPermille @5 :UInt32;  # text: share of the characters at the end, kept for validation
  scale @6 :Float64 = 1;        # a raw value x becomes (x * scale - mean) / deviation
  mean @7 :Float64;
  deviation @8 :Float64 = 1;
}

enum OptimizerKind {
  sgd @0;
  adam @1;
  adamw @2;
}

struct OptimizerSpec {
  kind @0 :OptimizerKind;
  learningRate @1 :Float64 = 0.01;
  momentum @2 :Float64;     # sgd
  nesterov @3 :Bool;        # sgd
  weightDecay @4 :Float64;  # sgd, adam: added to the gradient; adamw: decoupled
  beta1 @5 :Float64 = 0.9;    # adam, adamw
  beta2 @6 :Float64 = 0.999;  # adam, adamw
  epsilon @7 :Float64 = 1e-8; # adam, adamw
}

enum RateKind {
  constant @0;
  cosine @1;
}

struct RateSpec {
  kind @0 :RateKind;
  warmupSteps @1 :UInt64;  # of linear rise
  floor @2 :Float64;       # cosine: fraction of the learning rate left at the last step
}

struct Specification {
  model @0 :ModelSpec;
  data @1 :DataSpec;
  optimizer @2 :OptimizerSpec;
  rate @3 :RateSpec;
  seed @4 :UInt64 = 1;
  steps @5 :UInt64;
  miniBatch @6 :UInt32;   # samples a step
  microBatch @7 :UInt32;  # samples; divides the mini-batch
  slice @8 :UInt32;       # micro-batches a slice; 0 = by default
  clipNorm @9 :Float64;   # bound of the gradient's global norm; 0 = none
  isa @10 :Text;          # cap of the instruction set; empty = none
  initialWeights @11 :Text;            # path; outside the job's digest
  initialContent @12 :Common.Digest;   # of that file; zero = drawn from the seed
  run @13 :Text;          # makes another job of the same specification
}

enum ScheduleKind {
  gpipe @0;
  oneFOneB @1;
}

struct Wishes {
  # Zero or empty = the planner chooses.
  name @0 :Text;              # for people
  stages @1 :UInt32;
  replicas @2 :List(UInt32);  # for each stage; one number = for all
  shares @3 :List(UInt32);    # slices for each member, stage by stage in group order
  order @4 :List(UInt64);     # ids of peers in the order in which stages take them
  schedule @5 :ScheduleKind = oneFOneB;
}

struct JobRecord {
  # A job as it spreads: every peer that hears of it knows it.
  job @0 :Common.Digest;  # of the specification
  spec @1 :Specification;
  wanted @2 :Wishes;
  afterEpoch @3 :UInt64;  # plans of this beginning have higher epochs; the higher record goes
}

struct Submission {
  # A client asks for a job.
  what @0 :JobRecord;
}

struct Receipt {
  # The answer to a submission.
  job @0 :Common.Digest;
  accepted @1 :Bool;
  why @2 :Common.Error;  # if refused
}

struct Subscription {
  # From now on tell me of this job.
  job @0 :Common.Digest;
}
