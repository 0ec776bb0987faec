#include "kernels/format/npy.hpp"

#include "kernels/format/file.hpp"
#include "kernels/format/gzip.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>

namespace perigee::kernels {

namespace {

constexpr std::size_t npy_header_bytes_max = std::size_t{1} << 20U;
constexpr std::size_t rank_max = 32;  // NumPy's own

error refused(std::string_view what, const std::string& reason, errc code = errc::malformed) {
  return {code, "npy " + std::string(what) + ": " + reason};
}

std::optional<dtype> dtype_of(std::string_view descr) {
  static const std::map<std::string_view, dtype> types = {
      {"|b1", dtype::boolean}, {"|u1", dtype::u8},  {"|i1", dtype::i8},  {"<i2", dtype::i16},
      {"<u2", dtype::u16},     {"<f2", dtype::f16}, {"<i4", dtype::i32}, {"<u4", dtype::u32},
      {"<f4", dtype::f32},     {"<f8", dtype::f64}, {"<i8", dtype::i64}, {"<u8", dtype::u64}};
  const auto found = types.find(descr);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

struct npy_header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

/// Reads the one kind of Python literal that NumPy writes. Each reading function leaves the
/// position behind what it took, and returns nothing if it is not there.
class literal_reader {
public:
  explicit literal_reader(std::string_view text) : rest_(text) {}

  std::optional<npy_header> header() {
    npy_header read;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':') || !field(*key, read)) return std::nullopt;
      if (!take(',') && !next_is('}')) return std::nullopt;
    }
    skip_blanks();
    if (!rest_.empty() || !read.descr || !read.fortran_order || !read.shape) return std::nullopt;
    return read;
  }

private:
  bool field(const std::string& key, npy_header& read) {
    if (key == "descr" && !read.descr) return (read.descr = descr()).has_value();
    if (key == "fortran_order" && !read.fortran_order) {
      return (read.fortran_order = truth()).has_value();
    }
    if (key == "shape" && !read.shape) return (read.shape = tuple()).has_value();
    return false;
  }

  /// A type's name, or the whole list of a structured type, which is never a name that we know.
  std::optional<std::string> descr() {
    if (!next_is('[')) return string();
    const auto end = rest_.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    std::string list(rest_.substr(0, end + 1));
    rest_.remove_prefix(end + 1);
    return list;
  }

  std::optional<std::string> string() {
    const char quote = next_is('"') ? '"' : '\'';
    if (!take(quote)) return std::nullopt;
    const auto end = rest_.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    std::string words(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return words;
  }

  std::optional<bool> truth() {
    skip_blanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    return std::nullopt;
  }

  std::optional<std::vector<std::int64_t>> tuple() {
    std::vector<std::int64_t> sizes;
    if (!take('(')) return std::nullopt;
    while (!take(')')) {
      const auto size = number();
      if (!size || sizes.size() == rank_max) return std::nullopt;
      sizes.push_back(*size);
      const bool comma = take(',');
      if (!comma && (!next_is(')') || sizes.size() == 1)) return std::nullopt;  // (2) is no tuple
    }
    return sizes;
  }

  std::optional<std::int64_t> number() {
    skip_blanks();
    std::int64_t value = 0;
    const auto [end, fault] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (fault != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // a long of Python 2
    return value;
  }

  void skip_blanks() {
    const auto first = rest_.find_first_not_of(" \t\n\r");
    rest_.remove_prefix(std::min(first, rest_.size()));
  }
  bool next_is(char c) {
    skip_blanks();
    return rest_.starts_with(c);
  }
  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
};

/// Copies elements from column-major to row-major order: the last index of `shape` moves fastest
/// in the output.
std::vector<std::byte> turned(std::span<const std::byte> data, const npy_array& array) {
  const std::size_t size = element_bytes(array.type);
  const std::size_t rank = array.shape.size();
  std::vector<std::size_t> stride(rank, 1);
  for (std::size_t k = 1; k < rank; ++k) {
    stride[k] = stride[k - 1] * static_cast<std::size_t>(array.shape[k - 1]);
  }
  std::vector<std::size_t> index(rank, 0);
  std::vector<std::byte> out(data.size());
  std::size_t source = 0;
  for (std::size_t target = 0; target < data.size(); target += size) {
    std::memcpy(out.data() + target, data.data() + source * size, size);
    for (std::size_t k = rank; k-- > 0;) {
      source += stride[k];
      if (++index[k] < static_cast<std::size_t>(array.shape[k])) break;
      source -= stride[k] * index[k];
      index[k] = 0;
    }
  }
  return out;
}

/// Returns where header and data begin: {header, data}.
result<std::pair<std::size_t, std::size_t>> header_range(std::span<const std::byte> file,
                                                         std::string_view what) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (file.size() < 12 || std::memcmp(file.data(), magic.data(), magic.size()) != 0) {
    return refused(what, "wrong magic");
  }
  const auto byte_at = [&](std::size_t i) { return std::to_integer<std::size_t>(file[i]); };
  const std::size_t version = byte_at(6);
  if (version < 1 || version > 3 || byte_at(7) != 0) {
    return refused(what, "version " + std::to_string(version) + "." + std::to_string(byte_at(7)),
                   errc::unsupported);
  }
  const std::size_t begin = version == 1 ? 10 : 12;
  std::size_t length = byte_at(8) | (byte_at(9) << 8U);
  if (version > 1) length |= (byte_at(10) << 16U) | (byte_at(11) << 24U);
  if (length > npy_header_bytes_max || length > file.size() - begin) {
    return refused(what, "a header of " + std::to_string(length) + " bytes in a file of " +
                             std::to_string(file.size()));
  }
  return std::pair(begin, begin + length);
}

template <class T>
std::vector<double> converted(std::span<const std::byte> data) {
  std::vector<double> values;
  values.reserve(data.size() / sizeof(T));
  for (std::size_t at = 0; at < data.size(); at += sizeof(T)) {
    T value{};
    std::memcpy(&value, data.data() + at, sizeof(T));
    values.push_back(static_cast<double>(value));
  }
  return values;
}

}  // namespace

result<npy_array> parse_npy(std::span<const std::byte> file, std::string_view what) {
  const auto range = header_range(file, what);
  if (!range) return range.why();
  const auto [begin, end] = *range;
  const auto words = file.subspan(begin, end - begin);
  const auto header =
      literal_reader({reinterpret_cast<const char*>(words.data()), words.size()}).header();
  if (!header) return refused(what, "its header is not what NumPy writes");
  const auto type = dtype_of(*header->descr);
  if (!type) {
    const bool objects = header->descr->find('O') != std::string::npos;
    return refused(
        what, "elements of type " + shown(*header->descr) + (objects ? ", objects of Python" : ""),
        errc::unsupported);
  }
  npy_array array{*type, *header->shape, {}};
  const auto needed = tensor_bytes(array.type, array.shape);
  if (!needed) return refused(what, "shape overflows");
  const auto data = file.subspan(end);
  if (*needed != data.size()) {
    return refused(what, std::to_string(data.size()) + " bytes of data, the shape needs " +
                             std::to_string(*needed));
  }
  array.data = *header->fortran_order ? turned(data, array)
                                      : std::vector<std::byte>(data.begin(), data.end());
  return array;
}

result<npy_array> read_npy(const std::string& path) {
  const auto content = read_unzipped(path);
  if (!content) return content.why();
  return parse_npy(*content, path);
}

std::vector<double> doubles_of(const npy_array& array) {
  switch (array.type) {
    case dtype::f32:
      return converted<float>(array.data);
    case dtype::f64:
      return converted<double>(array.data);
    case dtype::i32:
      return converted<std::int32_t>(array.data);
    case dtype::i64:
      return converted<std::int64_t>(array.data);
    case dtype::u8:
      return converted<std::uint8_t>(array.data);
    default:
      return {};
  }
}

}  // namespace perigee::kernels
