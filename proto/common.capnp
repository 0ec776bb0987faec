# What several schemas share.
#
# In all of them: a field that is absent has its default; a new field gets the next number and is
# unknown to older peers; no field ever changes its meaning.

@0xf7953039c8633f69;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("perigee::wire");

struct Digest {
  # 128 bits that name content, or a job by its specification.
  high @0 :UInt64;
  low @1 :UInt64;
}

enum ErrorCode {
  # A closed list: proto/base/result.hpp.
  malformed @0;    # the input breaks its format
  stale @1;        # true once, not any more
  unknownPeer @2;  # nobody of that name
  infeasible @3;   # no plan can do it
  unavailable @4;  # not there now; may come
  timedOut @5;     # no answer in time
  exhausted @6;    # a limit is reached
  unsupported @7;  # well formed, but not something we do
  io @8;           # the operating system said no
}

struct Error {
  code @0 :ErrorCode;
  what @1 :Text;  # what was attempted on what and why it failed; one line
}
