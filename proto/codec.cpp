// The union of messages on the wire: proto/frame.capnp, Envelope.

#include "proto/codec.hpp"

#include "proto/codec_frame.hpp"
#include "proto/codec_pieces.hpp"

namespace perigee {

namespace {

using wire::Envelope;

/// One `operator()` for each message: one that is missing does not compile.
struct writer {
  Envelope::Builder to;
  void operator()(const peer_record& m) { write(to.initPeerRecord(), m); }
  void operator()(const ping& m) { write(to.initPing(), m); }
  void operator()(const pong& m) { write(to.initPong(), m); }
  void operator()(const job_record& m) { write(to.initJobRecord(), m); }
  void operator()(const proposal& m) { write(to.initProposal(), m); }
  void operator()(const acceptance& m) { write(to.initAcceptance(), m); }
  void operator()(const refusal& m) { write(to.initRefusal(), m); }
  void operator()(const commitment& m) { write(to.initCommitment(), m); }
  void operator()(const measurement& m) { write(to.initMeasurement(), m); }
  void operator()(const state_report& m) { write(to.initStateReport(), m); }
  void operator()(const halt& m) { write(to.initHalt(), m); }
  void operator()(const submission& m) { write(to.initSubmission(), m); }
  void operator()(const receipt& m) { write(to.initReceipt(), m); }
  void operator()(const subscription& m) { write(to.initSubscription(), m); }
  void operator()(const progress& m) { write(to.initProgress(), m); }
  void operator()(const account& m) { write(to.initAccount(), m); }
  void operator()(const remark& m) { write(to.initRemark(), m); }
  void operator()(const status_request& m) { write(to.initStatusRequest(), m); }
  void operator()(const status_report& m) { write(to.initStatusReport(), m); }
  void operator()(const state_request& m) { write(to.initStateRequest(), m); }
  void operator()(const missing& m) { write(to.initMissing(), m); }
  void operator()(const farewell& m) { write(to.initFarewell(), m); }
};

message read_message(Envelope::Reader from) {
  switch (from.which()) {
    case Envelope::PEER_RECORD:
      return wire::read(from.getPeerRecord());
    case Envelope::PING:
      return wire::read(from.getPing());
    case Envelope::PONG:
      return wire::read(from.getPong());
    case Envelope::JOB_RECORD:
      return wire::read(from.getJobRecord());
    case Envelope::PROPOSAL:
      return wire::read(from.getProposal());
    case Envelope::ACCEPTANCE:
      return wire::read(from.getAcceptance());
    case Envelope::REFUSAL:
      return wire::read(from.getRefusal());
    case Envelope::COMMITMENT:
      return wire::read(from.getCommitment());
    case Envelope::MEASUREMENT:
      return wire::read(from.getMeasurement());
    case Envelope::STATE_REPORT:
      return wire::read(from.getStateReport());
    case Envelope::HALT:
      return wire::read(from.getHalt());
    case Envelope::SUBMISSION:
      return wire::read(from.getSubmission());
    case Envelope::RECEIPT:
      return wire::read(from.getReceipt());
    case Envelope::SUBSCRIPTION:
      return wire::read(from.getSubscription());
    case Envelope::PROGRESS:
      return wire::read(from.getProgress());
    case Envelope::ACCOUNT:
      return wire::read(from.getAccount());
    case Envelope::REMARK:
      return wire::read(from.getRemark());
    case Envelope::STATUS_REQUEST:
      return wire::read(from.getStatusRequest());
    case Envelope::STATUS_REPORT:
      return wire::read(from.getStatusReport());
    case Envelope::STATE_REQUEST:
      return wire::read(from.getStateRequest());
    case Envelope::MISSING:
      return wire::read(from.getMissing());
    case Envelope::FAREWELL:
      return wire::read(from.getFarewell());
  }
  throw error{errc::unsupported,
              "unknown kind of message " + std::to_string(static_cast<unsigned>(from.which()))};
}

}  // namespace

std::vector<std::byte> encoded(const message& what) {
  capnp::MallocMessageBuilder builder;
  std::visit(writer{builder.initRoot<Envelope>()}, what);
  return wire::bytes_of(builder);
}

result<message> decoded(std::span<const std::byte> frame) {
  return wire::decoded_by<Envelope>(frame, read_message);
}

}  // namespace perigee
