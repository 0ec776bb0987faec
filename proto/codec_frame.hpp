// codec_frame: from Cap'n Proto's builders and readers to bytes and back. For proto/codec*.cpp
// only.
#pragma once

#include "proto/base/result.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <array>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace perigee::wire {

inline std::vector<std::byte> bytes_of(capnp::MessageBuilder& builder) {
  const auto words = capnp::messageToFlatArray(builder);
  const auto all = std::as_bytes(std::span{words.begin(), words.size()});
  return {all.begin(), all.end()};
}

/// Returns the first line of what Cap'n Proto complains about.
inline error malformed(const char* complaint) {
  const std::string_view all = complaint;
  return {errc::malformed, "undecodable frame: " + std::string(all.substr(0, all.find('\n')))};
}

/// Returns how often an input may be walked over: Cap'n Proto counts each visit of a struct, and we
/// visit some twice; what points at the same bytes again and again goes beyond it.
inline capnp::ReaderOptions options_for(std::size_t words) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 2 * words + 64;
  options.nestingLimit = 16;
  return options;
}

/// Returns what `get` makes of the root struct, or why it is refused. `get` may throw `error`.
template <class Root, class Get>
auto decoded_by(std::span<const std::byte> frame, Get get)
    -> result<decltype(get(std::declval<typename Root::Reader>()))> {
  constexpr std::size_t word_size = sizeof(capnp::word);
  if (frame.empty() || frame.size() % word_size != 0)
    return error{errc::malformed,
                 "frame of " + std::to_string(frame.size()) + " bytes: not whole words"};
  try {
    // A copy, since Cap'n Proto reads words in place and our input may lie at any address.
    auto words = kj::heapArray<capnp::word>(frame.size() / word_size);
    std::memcpy(words.asBytes().begin(), frame.data(), frame.size());
    capnp::FlatArrayMessageReader reader(words, options_for(words.size()));
    if (reader.getEnd() != words.end())
      return error{errc::malformed, "frame is longer than its segments"};
    return get(reader.getRoot<Root>());
  } catch (const error& why) { return why; } catch (const kj::Exception& why) {
    return malformed(why.getDescription().cStr());
  } catch (const std::exception& why) { return malformed(why.what()); }
}

}  // namespace perigee::wire
