# Who is there: what peers tell of themselves and of their neighbours.

@0x90f1866581fc07f9;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("perigee::wire");

using Common = import "common.capnp";
using Train = import "train.capnp";

struct PeerRecord {
  # What a peer tells of itself. A higher version replaces a lower one of the same incarnation.
  peer @0 :UInt64;
  incarnation @1 :UInt64;  # of this process: a restart has a higher one
  version @2 :UInt64;
  name @3 :Text;           # for people
  address @4 :Text;        # host:port it listens on
  workers @5 :UInt32 = 1;
  memoryOffer @6 :UInt64;  # bytes
  # Operations (of memory: bytes) a second of one worker, by class of work; zero until calibrated.
  rateMatrix @7 :UInt64;
  rateConvolution @8 :UInt64;
  rateDepthwise @9 :UInt64;
  rateMemory @10 :UInt64;
  fingerprint @11 :UInt64;  # of its kernels; equal ones give equal bits
}

struct Ping {
  count @0 :UInt64;  # comes back in the pong
}

struct Pong {
  count @0 :UInt64;
}

struct StatusRequest {}

struct Neighbour {
  record @0 :PeerRecord;
  linked @1 :Bool;
  roundTripNs @2 :Int64;  # nanoseconds; 0 = unknown
  sent @3 :UInt64;        # bytes
  received @4 :UInt64;    # bytes
}

struct StatusReport {
  self @0 :PeerRecord;
  neighbours @1 :List(Neighbour);
  jobs @2 :List(Train.Progress);
  droppedFrames @3 :UInt64;  # undecodable, oversized or unexpected ones
}

struct Farewell {
  # Asks a peer to end in good order.
}
