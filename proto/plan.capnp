# A plan, and how peers agree on it.

@0xf016be0c3fef841e;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("perigee::wire");

using Common = import "common.capnp";
using Job = import "job.capnp";

struct Member {
  # One peer of a group.
  peer @0 :UInt64;
  sliceFirst @1 :UInt32;  # it computes slices [sliceFirst, sliceFirst + sliceCount)
  sliceCount @2 :UInt32;
  workers @3 :UInt32 = 1; # lanes
}

struct Stage {
  # Layers [layerFirst, layerFirst + layerCount), replicated over a group in slice order.
  layerFirst @0 :UInt32;
  layerCount @1 :UInt32;
  inFlightMax @2 :UInt32 = 1;  # micro-batches a lane may hold between forward and backward
  group @3 :List(Member);
}

struct Plan {
  job @0 :Common.Digest;
  epoch @1 :UInt64;           # each new plan of a job has a higher one
  schedule @2 :Job.ScheduleKind = oneFOneB;
  stages @3 :List(Stage);     # in layer order; together they cover the model once
  predictedStepNs @4 :Int64;  # nanoseconds; outside the plan's digest
}

struct Proposal {
  what @0 :Plan;
  baseStep @1 :UInt64;  # the step whose state it starts from
}

struct Acceptance {
  job @0 :Common.Digest;
  epoch @1 :UInt64;
  planDigest @2 :UInt64;
}

struct Refusal {
  job @0 :Common.Digest;
  epoch @1 :UInt64;
  planDigest @2 :UInt64;
  why @3 :Common.Error;
  needed @4 :UInt64;   # bytes the plan asks of the peer, if memory is short
  offered @5 :UInt64;  # bytes it could offer
}

struct Commitment {
  what @0 :Proposal;
}
