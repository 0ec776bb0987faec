#include "net/tcp/bulk_receiver.hpp"

#include "net/limits.hpp"
#include "proto/digest.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace perigee::net {

namespace {

error malformed(const std::string& what) { return {errc::malformed, "malformed chunk: " + what}; }

tensor_label label_of(const chunk_header& next) {
  return {next.job, next.plan_digest, next.what, next.size};
}

/// What can be said of a chunk from its header and the credit alone.
result<void> judged(const chunk_header& next, std::uint64_t credit) {
  const auto size = next.size.count;
  if (size == 0 || size > limits::tensor_max) {
    return malformed("a tensor of " + std::to_string(size) + " bytes");
  }
  if (next.length == 0 || next.length > limits::chunk_max) {
    return malformed(std::to_string(next.length) + " bytes");
  }
  if (next.offset > size || next.length > size - next.offset) {
    return malformed("it ends beyond its tensor");
  }
  if (next.length > credit) return malformed("more bytes than were granted");
  return {};
}

}  // namespace

bulk_receiver::bulk_receiver(bytes window, hooks to)
    : window_(window), to_(std::move(to)), scratch_(limits::scratch_size), credit_(window.count) {}

error bulk_receiver::read_loop() {
  while (true) {
    if (auto read = read_chunk(); !read) return read.why();
  }
}

result<void> bulk_receiver::read_chunk() {
  const auto next = read_header();
  if (!next) return next.why();
  if (auto fine = judged(*next, credit_); !fine) return fine;
  auto& line = lines_[class_of(next->what)];
  if (auto fine = begin(line, *next); !fine) return fine;
  credit_ -= next->length;
  if (auto taken = take(line, *next); !taken) return taken;
  consumed(next->length);
  line.done += next->length;
  if (line.done < line.label.size.count) return {};
  line.active = false;
  if (!line.room.empty()) to_.arrived(line.label);
  return {};
}

result<chunk_header> bulk_receiver::read_header() {
  frame_prefix prefix{};
  if (auto got = to_.read(prefix); !got) return got.why();
  const auto size = announced(prefix, frame_kind::chunk, limits::chunk_header_max);
  if (!size) return size.why();
  std::array<std::byte, limits::chunk_header_max> header;
  const auto part = std::span(header).first(*size);
  if (auto got = read_promised(to_.read, part); !got) return got.why();
  auto decoded = decoded_chunk_header(part);
  if (!decoded) return malformed(decoded.why().what);
  return decoded;
}

result<void> bulk_receiver::begin(incoming& line, const chunk_header& next) {
  const auto label = label_of(next);
  if (line.active) {
    if (label == line.label && next.offset == line.done) return {};
    return malformed("out of order");
  }
  if (next.offset != 0) return malformed("out of order");
  line = {label, to_.room_for(label), 0, true};
  CHECK(line.room.empty() || line.room.size() == label.size.count);
  if (line.room.empty()) to_.dropped();
  return {};
}

result<void> bulk_receiver::take(incoming& line, const chunk_header& next) {
  if (line.room.empty()) return drain(next.length);
  const auto part = line.room.subspan(next.offset, next.length);
  if (auto got = read_promised(to_.read, part); !got) return got;
  if (checksum_of(part) != next.checksum) return malformed("wrong checksum");
  return {};
}

result<void> bulk_receiver::drain(std::uint64_t size) {
  while (size > 0) {
    const auto part = std::span(scratch_).first(std::min<std::uint64_t>(size, scratch_.size()));
    if (auto got = read_promised(to_.read, part); !got) return got;
    size -= part.size();
  }
  return {};
}

void bulk_receiver::consumed(std::uint64_t size) {
  received_ += size;
  owed_ += size;
  if (owed_ < window_.count / 4) return;
  credit_ += owed_;
  to_.grant({std::exchange(owed_, 0)});
}

}  // namespace perigee::net
