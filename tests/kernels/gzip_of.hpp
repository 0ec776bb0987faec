// Zips, so that tests can make the files that the readers take.
#pragma once

#include <zlib.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace perigee::test {

inline std::string gzip_of(std::string_view content) {
  z_stream stream{};
  if (::deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string zipped(::deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(zipped.data());
  stream.avail_out = static_cast<uInt>(zipped.size());
  const int state = ::deflate(&stream, Z_FINISH);
  zipped.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::runtime_error("deflate");
  return zipped;
}

}  // namespace perigee::test
