#include "kernels/format/gzip.hpp"

#include "kernels/format/file.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace perigee::kernels {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{256} << 10U;

bool has_magic(std::span<const std::byte> file) {
  return file.size() >= 2 && file[0] == std::byte{0x1f} && file[1] == std::byte{0x8b};
}

/// A zlib stream that ends itself.
struct inflater {
  z_stream stream{};
  bool ready;
  inflater() : ready(::inflateInit2(&stream, MAX_WBITS + 16) == Z_OK) {}  // + 16: gzip only
  inflater(const inflater&) = delete;
  inflater& operator=(const inflater&) = delete;
  ~inflater() {
    if (ready) ::inflateEnd(&stream);
  }
};

error failed(std::string_view what, errc code, const std::string& reason) {
  return {code, "gzip " + std::string(what) + ": " + reason};
}

error too_large(std::string_view what, std::uint64_t bytes_max) {
  return {errc::exhausted,
          "read " + std::string(what) + ": more than " + std::to_string(bytes_max) + " bytes"};
}

}  // namespace

result<std::vector<std::byte>> unzipped(std::span<const std::byte> file, std::string_view what,
                                        std::uint64_t bytes_max) {
  inflater zip;
  if (!zip.ready) return failed(what, errc::exhausted, "no memory");
  std::vector<std::byte> out;
  std::vector<std::byte> chunk(chunk_bytes);
  std::span<const std::byte> rest = file;
  for (;;) {
    const auto given = std::min<std::size_t>(rest.size(), std::numeric_limits<uInt>::max());
    zip.stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest.data()));
    zip.stream.avail_in = static_cast<uInt>(given);
    zip.stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    zip.stream.avail_out = static_cast<uInt>(chunk.size());
    const int state = ::inflate(&zip.stream, Z_NO_FLUSH);
    rest = rest.subspan(given - zip.stream.avail_in);
    const auto got = chunk.size() - zip.stream.avail_out;
    if (got > bytes_max - out.size()) return too_large(what, bytes_max);
    out.insert(out.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(got));
    const std::string place = " at byte " + std::to_string(file.size() - rest.size());
    if (state == Z_BUF_ERROR) return failed(what, errc::malformed, "cut off" + place);
    if (state != Z_OK && state != Z_STREAM_END)
      return failed(what, errc::malformed, "damaged" + place);
    if (state == Z_OK) continue;
    if (rest.empty()) return out;
    if (!has_magic(rest)) return failed(what, errc::malformed, "something else follows" + place);
    ::inflateReset(&zip.stream);
  }
}

result<std::vector<std::byte>> read_unzipped(const std::string& path, std::uint64_t bytes_max) {
  const auto file = input_file::open(path);
  if (!file) return file.why();
  if (file->size() > bytes_max) return too_large(path, bytes_max);
  std::vector<std::byte> content(file->size());
  if (auto done = file->read_at(0, content); !done) return done.why();
  if (!has_magic(content)) return content;
  return unzipped(content, path, bytes_max);
}

}  // namespace perigee::kernels
