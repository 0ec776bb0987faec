#include "kernels/format/csv.hpp"

#include "kernels/format/file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace perigee::kernels {

namespace {

/// Takes the text up to `end` off the front, and `end` with it.
std::string_view taken(std::string_view& rest, char end) {
  const std::string_view piece = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(rest.size(), piece.size() + 1));
  return piece;
}

std::string_view trimmed(std::string_view field) {
  const auto first = field.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return field.substr(first, field.find_last_not_of(" \t\r") - first + 1);
}

template <class Number>
std::optional<Number> number_of(std::string_view field) {
  Number value{};
  const auto [end, fault] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (fault != std::errc{} || end != field.data() + field.size()) return std::nullopt;
  return value;
}

std::int64_t field_count(std::string_view line) {
  return std::count(line.begin(), line.end(), ',') + 1;
}

bool has_number(std::string_view line) {
  while (!line.empty()) {
    if (number_of<double>(trimmed(taken(line, ',')))) return true;
  }
  return false;
}

/// Returns the rows that a first line in scikit-learn's form promises: `rows,columns[,names...]`.
std::optional<std::int64_t> promised_rows(std::string_view first, std::string_view second) {
  const auto rows = number_of<std::int64_t>(trimmed(taken(first, ',')));
  const auto columns = number_of<std::int64_t>(trimmed(taken(first, ',')));
  if (!rows || !columns || *columns < 2 || *columns + 1 != field_count(second)) return std::nullopt;
  while (!first.empty()) {
    if (number_of<double>(trimmed(taken(first, ',')))) return std::nullopt;
  }
  return rows;
}

class csv_reader {
public:
  csv_reader(std::string_view content, std::string_view what) : rest_(content), what_(what) {}

  result<labelled_table> table() {
    skip_heading();
    while (!rest_.empty()) {
      ++line_;
      if (auto read = read_line(taken(rest_, '\n')); !read) return read.why();
    }
    const auto rows = static_cast<std::int64_t>(table_.labels.size());
    if (rows == 0) return refused("", "no rows");
    if (promised_ && *promised_ != rows) {
      return refused(
          "", std::to_string(rows) + " rows; its first line says " + std::to_string(*promised_));
    }
    return std::move(table_);
  }

private:
  void skip_heading() {
    while (!rest_.empty() && (rest_.back() == '\n' || rest_.back() == '\r')) {
      rest_.remove_suffix(1);
    }
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);  // a byte-order mark
    std::string_view later = rest_;
    const std::string_view first = taken(later, '\n');
    promised_ = promised_rows(first, later.substr(0, later.find('\n')));
    if (!promised_ && has_number(first)) return;
    rest_ = later;
    ++line_;
  }

  result<void> read_line(std::string_view line) {
    const std::int64_t fields = field_count(line);
    if (table_.features == 0) {
      if (fields < 2) return refused(place(), "one column; a feature and a label are needed");
      table_.features = fields - 1;
    }
    if (fields != table_.features + 1) {
      return refused(place(), std::to_string(fields) + " columns; the lines before have " +
                                  std::to_string(table_.features + 1));
    }
    for (std::int64_t column = 1; column <= table_.features; ++column) {
      const std::string_view field = trimmed(taken(line, ','));
      const auto value = number_of<float>(field);
      if (!value || !std::isfinite(*value)) {
        return refused(place(column), shown(field) + " is no finite number");
      }
      table_.values.push_back(*value);
    }
    return read_label(trimmed(line));
  }

  result<void> read_label(std::string_view field) {
    const auto value = number_of<double>(field);
    const bool fits = value && *value >= 0 && *value <= label_max && *value == std::floor(*value);
    if (!fits) {
      return refused(
          place(table_.features + 1),
          "label " + shown(field) + " is no whole number from 0 to " + std::to_string(label_max));
    }
    table_.labels.push_back(static_cast<std::int32_t>(*value));
    return {};
  }

  std::string place() const { return "line " + std::to_string(line_) + ": "; }
  std::string place(std::int64_t column) const {
    return "line " + std::to_string(line_) + " column " + std::to_string(column) + ": ";
  }
  error refused(const std::string& where, const std::string& reason) const {
    return {errc::malformed, "csv " + std::string(what_) + ": " + where + reason};
  }

  std::string_view rest_;
  std::string_view what_;
  std::int64_t line_ = 0;
  std::optional<std::int64_t> promised_;
  labelled_table table_;
};

}  // namespace

result<labelled_table> parse_csv(std::string_view content, std::string_view what) {
  return csv_reader(content, what).table();
}

}  // namespace perigee::kernels
