#include "kernels/format/safetensors_header.hpp"

#include "kernels/format/file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace perigee::kernels {

namespace {

using nlohmann::json;

constexpr std::string_view metadata_key = "__metadata__";

std::optional<dtype> dtype_of(std::string_view word) {
  for (auto i = static_cast<int>(dtype::boolean); i <= static_cast<int>(dtype::u64); ++i) {
    if (text(static_cast<dtype>(i)) == word) return static_cast<dtype>(i);
  }
  return std::nullopt;
}

/// Where in the header the reader stands.
enum class place { outside, root, metadata, tensor, list };

/// Takes the events of the JSON reader; the first that the format does not allow ends it.
class header_reader final : public nlohmann::json_sax<json> {
public:
  safetensors_header header;
  std::optional<error> why;

  bool null() override { return not_expected("null"); }
  bool boolean(bool) override { return not_expected("a truth value"); }
  bool number_integer(number_integer_t value) override {
    return refuse(where() + ": negative number " + std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& digits) override {
    return refuse(where() + ": " + shown(digits) + " is no whole number of 63 bits");
  }
  bool binary(binary_t&) override { return not_expected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != place::list) return not_expected("a number");
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return refuse(where() + ": " + std::to_string(value) + " is no whole number of 63 bits");
    }
    numbers_.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == place::metadata) {
      header.metadata[field_] = std::move(value);
      return true;
    }
    if (place_ != place::tensor || field_ != "dtype") return not_expected("a string");
    const auto type = dtype_of(value);
    if (!type) {
      return refuse(where() + ": unknown element type " + shown(value), errc::unsupported);
    }
    entry_.type = *type;
    return true;
  }

  bool key(string_t& name) override {
    if (place_ == place::root) return begin_member(name);
    if (!fields_.insert(name).second) {
      return refuse((place_ == place::metadata ? "metadata" : tensor_words()) + ": duplicate key " +
                    shown(name));
    }
    const bool known = name == "dtype" || name == "shape" || name == "data_offsets";
    if (place_ == place::tensor && !known) {
      return refuse(tensor_words() + ": unknown key " + shown(name));
    }
    field_ = name;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == place::outside) {
      place_ = place::root;
      return true;
    }
    if (place_ != place::root) return not_expected("an object");
    place_ = entry_.name == metadata_key ? place::metadata : place::tensor;
    return true;
  }

  bool end_object() override {
    if (place_ == place::tensor) {
      for (const char* needed : {"dtype", "shape", "data_offsets"}) {
        if (!fields_.contains(needed)) return refuse(tensor_words() + ": no " + needed);
      }
      header.entries.push_back(entry_);
    }
    place_ = place_ == place::root ? place::outside : place::root;
    return true;
  }

  bool start_array(std::size_t) override {
    const bool listed = field_ == "shape" || field_ == "data_offsets";
    if (place_ != place::tensor || !listed) return not_expected("a list");
    place_ = place::list;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    place_ = place::tensor;
    if (field_ == "shape") {
      entry_.shape = numbers_;
      return true;
    }
    if (numbers_.size() != 2) {
      return refuse(where() + ": " + std::to_string(numbers_.size()) + " numbers instead of 2");
    }
    entry_.begin = static_cast<std::uint64_t>(numbers_[0]);
    entry_.end = static_cast<std::uint64_t>(numbers_[1]);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return refuse("no valid JSON at byte " + std::to_string(position) + " of the header");
  }

private:
  std::string tensor_words() const { return "tensor " + shown(entry_.name); }
  std::string where() const {
    switch (place_) {
      case place::outside:
        return "header";
      case place::root:
        return entry_.name == metadata_key ? "metadata" : tensor_words();
      case place::metadata:
        return "metadata: " + shown(field_);
      case place::tensor:
      case place::list:
        break;
    }
    return tensor_words() + ": " + field_;
  }
  bool refuse(std::string reason, errc code = errc::malformed) {
    if (!why) why = error{code, std::move(reason)};
    return false;
  }
  bool not_expected(const char* value) {
    return refuse(where() + ": " + value + " is not expected here");
  }
  bool begin_member(const std::string& name) {
    entry_ = header_entry{.name = name, .type = {}, .shape = {}};
    fields_.clear();
    field_.clear();
    if (!names_.insert(name).second) return refuse("duplicate key " + shown(name));
    return true;
  }

  place place_ = place::outside;
  header_entry entry_;            // the member being read
  std::string field_;             // the key being read in it
  std::set<std::string> names_;   // of the root
  std::set<std::string> fields_;  // of the member
  std::vector<std::int64_t> numbers_;
};

std::optional<std::string> size_fault(const header_entry& e) {
  const std::string offsets =
      "data_offsets [" + std::to_string(e.begin) + "," + std::to_string(e.end) + "]";
  if (e.begin > e.end) return offsets + " end before they begin";
  const auto needed = tensor_bytes(e.type, e.shape);
  if (!needed) return std::string("shape overflows");
  if (*needed == e.end - e.begin) return std::nullopt;
  return offsets + " are " + std::to_string(e.end - e.begin) + " bytes, the shape needs " +
         std::to_string(*needed);
}

/// Sorts the entries by their data and returns what is wrong with their places, if anything.
std::optional<std::string> layout_fault(std::vector<header_entry>& entries,
                                        std::uint64_t data_bytes) {
  std::ranges::sort(entries, {},
                    [](const header_entry& e) { return std::make_pair(e.begin, e.end); });
  std::uint64_t reached = 0;
  for (const auto& e : entries) {
    const std::string tensor = "tensor " + shown(e.name) + ": ";
    if (const auto fault = size_fault(e)) return tensor + *fault;
    if (e.begin < reached) return tensor + "overlaps the tensor before it";
    if (e.begin > reached)
      return tensor + "a hole of " + std::to_string(e.begin - reached) + " bytes before it";
    if (e.end > data_bytes) {
      return tensor + "ends at " + std::to_string(e.end) + " of " + std::to_string(data_bytes) +
             " bytes of data";
    }
    reached = e.end;
  }
  if (reached == data_bytes) return std::nullopt;
  return std::to_string(data_bytes - reached) + " bytes after the last tensor";
}

error named(std::string_view what, errc code, const std::string& reason) {
  return {code, "safetensors " + std::string(what) + ": " + reason};
}

}  // namespace

result<safetensors_header> parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                                    std::string_view what) {
  if (text.empty() || text.front() != '{') {
    return named(what, errc::malformed, "the header is no JSON object");
  }
  // The JSON reader takes a zero byte for the end and would not look at what follows it.
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
    return named(what, errc::malformed, "zero byte at " + std::to_string(zero) + " of the header");
  }
  header_reader reader;
  const bool complete = json::sax_parse(text, &reader, json::input_format_t::json, true);
  if (reader.why) return named(what, reader.why->code, reader.why->what);
  CHECK(complete);
  if (const auto fault = layout_fault(reader.header.entries, data_bytes)) {
    return named(what, errc::malformed, *fault);
  }
  return std::move(reader.header);
}

}  // namespace perigee::kernels
