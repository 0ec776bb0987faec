// Greetings, chunk headers and credits on the wire: proto/frame.capnp.

#include "proto/codec_frame.hpp"
#include "proto/codec_pieces.hpp"

namespace perigee {

namespace {

constexpr std::uint64_t hello_magic = 0x3165656769726570U;  // "perigee1", little-endian

std::string range_text(const hello& h) {
  return std::to_string(h.version_min) + " to " + std::to_string(h.version_max);
}

hello read_hello(wire::Hello::Reader from) {
  if (from.getMagic() != hello_magic)
    throw error{errc::malformed, "greeting is not one of perigee"};
  return {from.getVersionMin(),
          from.getVersionMax(),
          peer_id{from.getPeer()},
          from.getIncarnation(),
          wire::read_enum(from.getRole(), hello_role::client, "role"),
          wire::read_enum(from.getChannel(), hello_channel::bulk, "channel"),
          from.getNonce(),
          wire::read_text(from.getName(), codec_limits::name_max, "name of a peer")};
}

chunk_header read_chunk(wire::Chunk::Reader from) {
  const chunk_header header = {
      job_id{{from.getJobHigh(), from.getJobLow()}},
      from.getPlanDigest(),
      {wire::read_enum(from.getKind(), tensor_kind::state, "kind of tensor"), from.getStep(),
       from.getLayer(), from.getIndex()},
      {from.getSize()},
      from.getOffset(),
      from.getLength(),
      from.getChecksum()};
  if (header.offset > header.size.count || header.length > header.size.count - header.offset)
    throw error{errc::malformed, "chunk reaches beyond its tensor"};
  return header;
}

}  // namespace

std::vector<std::byte> encoded(const hello& what) {
  const auto& [version_min, version_max, peer, incarnation, role, channel, nonce, name] = what;
  capnp::MallocMessageBuilder builder(128);
  auto to = builder.initRoot<wire::Hello>();
  to.setMagic(hello_magic);
  to.setVersionMin(version_min);
  to.setVersionMax(version_max);
  to.setPeer(peer.value);
  to.setIncarnation(incarnation);
  to.setRole(wire::in_capnp<wire::Role>(role));
  to.setChannel(wire::in_capnp<wire::Channel>(channel));
  to.setNonce(nonce);
  to.setName(wire::in_capnp(name.substr(0, codec_limits::name_max)));
  return wire::bytes_of(builder);
}

result<hello> decoded_hello(std::span<const std::byte> frame) {
  return wire::decoded_by<wire::Hello>(frame, read_hello);
}

result<std::uint32_t> agreed_version(const hello& ours, const hello& theirs) {
  const std::uint32_t highest = std::min(ours.version_max, theirs.version_max);
  if (highest >= std::max(ours.version_min, theirs.version_min)) return highest;
  return error{errc::unsupported, "no common version: we speak " + range_text(ours) +
                                      ", the other side " + range_text(theirs)};
}

encoded_chunk_header encoded(const chunk_header& what) {
  const auto& [job, plan_digest, tensor, size, offset, length, checksum] = what;
  const auto& [kind, step, layer, index] = tensor;
  capnp::word scratch[codec_limits::chunk_header_max / sizeof(capnp::word)] = {};
  capnp::MallocMessageBuilder builder(kj::arrayPtr(scratch, std::size(scratch)));
  auto to = builder.initRoot<wire::Chunk>();
  to.setJobHigh(job.value.high);
  to.setJobLow(job.value.low);
  to.setPlanDigest(plan_digest);
  to.setStep(step);
  to.setKind(wire::in_capnp<wire::TensorKind>(kind));
  to.setLayer(layer);
  to.setIndex(index);
  to.setSize(size.count);
  to.setOffset(offset);
  to.setLength(length);
  to.setChecksum(checksum);

  encoded_chunk_header header;
  const auto segments = builder.getSegmentsForOutput();
  CHECK(segments.size() == 1);
  const auto body = std::as_bytes(std::span{segments[0].begin(), segments[0].size()});
  // The segment table of one segment: the count less one, the size in words.
  const std::uint32_t table[2] = {0, static_cast<std::uint32_t>(segments[0].size())};
  header.size = sizeof table + body.size();
  CHECK(header.size <= header.data.size());
  std::memcpy(header.data.data(), table, sizeof table);
  std::memcpy(header.data.data() + sizeof table, body.data(), body.size());
  return header;
}

result<chunk_header> decoded_chunk_header(std::span<const std::byte> frame) {
  return wire::decoded_by<wire::Chunk>(frame, read_chunk);
}

std::vector<std::byte> encoded(const credit& what) {
  capnp::MallocMessageBuilder builder(8);
  builder.initRoot<wire::Credit>().setBytes(what.bytes);
  return wire::bytes_of(builder);
}

result<credit> decoded_credit(std::span<const std::byte> frame) {
  return wire::decoded_by<wire::Credit>(
      frame, [](wire::Credit::Reader from) { return credit{from.getBytes()}; });
}

}  // namespace perigee
