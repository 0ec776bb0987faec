# A job under way: what peers tell one another each step, and what they tell those who watch.

@0xcf8db1fd9f5d00ba;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("perigee::wire");

using Common = import "common.capnp";
using Plan = import "plan.capnp";

enum TensorKind {
  activation @0;          # the boundary before `layer`, of micro-batch `index`
  activationGradient @1;  # the gradient of that boundary
  gradient @2;            # the fold of a layer's reduction buffers over slices [0, index)
  state @3;               # everything a layer is, after `step` steps
}

struct Measurement {
  # What a stage measured of its total gradients of a step.
  job @0 :Common.Digest;
  epoch @1 :UInt64;
  step @2 :UInt64;
  stage @3 :UInt32;
  finite @4 :Bool = true;
  layer @5 :UInt32;           # if not finite: where
  microBatch @6 :UInt32;      # if not finite: where
  values @7 :List(UInt64);    # of the stage's layers, in layer order; only executors read them
  lossBits @8 :UInt64;        # last stage: bits of the f64 mean loss
  counted @9 :UInt64;         # last stage: targets
}

struct StateReport {
  # The digests of the new states of layers from layerFirst on.
  job @0 :Common.Digest;
  epoch @1 :UInt64;
  step @2 :UInt64;  # steps done
  layerFirst @3 :UInt32;
  states @4 :List(Common.Digest);
}

struct Halt {
  # The job cannot go on.
  job @0 :Common.Digest;
  epoch @1 :UInt64;
  step @2 :UInt64;  # steps done
  why @3 :Common.Error;
}

enum JobPhase {
  waiting @0;
  planning @1;
  preparing @2;
  running @3;
  finished @4;
  halted @5;
}

struct CommitRecord {
  # What one finished step leaves.
  job @0 :Common.Digest;
  epoch @1 :UInt64;
  step @2 :UInt64;          # steps done
  lossBits @3 :UInt64;      # f64: mean over the mini-batch's counted targets
  counted @4 :UInt64;       # targets
  microBatches @5 :UInt32;
  states @6 :List(Common.Digest);  # of every layer
}

struct PeerWork {
  # What one peer did for a job so far.
  peer @0 :UInt64;
  microBatches @1 :UInt64;  # backward passes of its stage
  sent @2 :UInt64;          # bytes of tensors
  received @3 :UInt64;      # bytes of tensors
  computingNs @4 :Int64;    # lane time in nanoseconds
  memory @5 :UInt64;        # bytes that its part of the plan needs
  offered @6 :UInt64;       # bytes
}

struct Progress {
  # News of a job for those who watch it.
  job @0 :Common.Digest;
  phase @1 :JobPhase;
  step @2 :UInt64;           # steps done
  steps @3 :UInt64;          # of the job
  last @4 :CommitRecord;     # of the newest finished step; empty before the first
  current @5 :Plan.Plan;
  why @6 :Common.Error;      # halted or waiting: the reason
  work @7 :List(PeerWork);   # one for each participant, with the last news it sent
  measuredStepNs @8 :Int64;  # of the newest step, nanoseconds
}

struct Account {
  # A participant's own account.
  job @0 :Common.Digest;
  work @1 :PeerWork;
}

struct Remark {
  # A line for people about a job.
  job @0 :Common.Digest;
  line @1 :Text;
}

struct StateRequest {
  # Asks for the state of a layer of a job that does not run any more.
  job @0 :Common.Digest;
  layer @1 :UInt32;
}

struct Missing {
  # The answer to a state request that cannot be met.
  job @0 :Common.Digest;
  layer @1 :UInt32;
  why @2 :Common.Error;
}
