# What goes over a link. On both connections: one Hello each way. Then on CONTROL Envelopes, on BULK
# pieces of tensors, each behind its Chunk, and the Credits that allow them.

@0xeec7f616434bbc89;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("perigee::wire");

using Common = import "common.capnp";
using Job = import "job.capnp";
using Plan = import "plan.capnp";
using Swarm = import "swarm.capnp";
using Train = import "train.capnp";

struct Envelope {
  # A message. Whoever does not know its tag drops it.
  union {
    peerRecord @0 :Swarm.PeerRecord;
    ping @1 :Swarm.Ping;
    pong @2 :Swarm.Pong;
    jobRecord @3 :Job.JobRecord;
    proposal @4 :Plan.Proposal;
    acceptance @5 :Plan.Acceptance;
    refusal @6 :Plan.Refusal;
    commitment @7 :Plan.Commitment;
    measurement @8 :Train.Measurement;
    stateReport @9 :Train.StateReport;
    halt @10 :Train.Halt;
    submission @11 :Job.Submission;
    receipt @12 :Job.Receipt;
    subscription @13 :Job.Subscription;
    progress @14 :Train.Progress;
    account @15 :Train.Account;
    remark @16 :Train.Remark;
    statusRequest @17 :Swarm.StatusRequest;
    statusReport @18 :Swarm.StatusReport;
    stateRequest @19 :Train.StateRequest;
    missing @20 :Train.Missing;
    farewell @21 :Swarm.Farewell;
  }
}

enum Role {
  peer @0;
  client @1;
}

enum Channel {
  control @0;
  bulk @1;
}

struct Hello {
  magic @0 :UInt64;       # "perigee1" in ASCII, its first letter in the lowest byte
  versionMin @1 :UInt32;  # the sender speaks versionMin to versionMax; the highest common one holds
  versionMax @2 :UInt32;
  peer @3 :UInt64;
  incarnation @4 :UInt64;
  role @5 :Role;
  channel @6 :Channel;
  nonce @7 :UInt64;       # drawn for each link: tells which two connections belong together
  name @8 :Text;          # for people
}

struct Chunk {
  # Which piece of which tensor the `length` bytes behind this header are.
  jobHigh @0 :UInt64;     # the job's digest
  jobLow @1 :UInt64;
  planDigest @2 :UInt64;  # of the plan under which it was made
  step @3 :UInt64;
  kind @4 :Train.TensorKind;
  layer @5 :UInt32;
  index @6 :UInt32;       # micro-batch, or end of a range of slices, as the kind says
  size @7 :UInt64;        # bytes of the whole tensor
  offset @8 :UInt64;      # of this piece in the tensor
  length @9 :UInt32;      # bytes of this piece
  checksum @10 :UInt64;   # XXH3-64 of this piece
}

struct Credit {
  bytes @0 :UInt64;  # so many more bytes of tensors may be sent to me
}
