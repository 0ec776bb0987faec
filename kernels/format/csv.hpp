// Tables of numbers with a label: one sample a line, the last column its class.
//
// A first line without any number is a heading. A first line in scikit-learn's form (rows, columns,
// then the classes' names) is one too, and its rows are checked. Fields may stand in blanks; lines
// may end in CR LF; the last line may end without one.
//
// Guarantees  numbers are the f32 nearest to what is written, whatever the locale; a table is
//             refused at its first fault, with line and column (both from 1).
#pragma once

#include "proto/base/result.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace perigee::kernels {

/// The largest class that a label may name: one output is made for each class.
inline constexpr std::int32_t label_max = 65'535;

struct labelled_table {
  std::int64_t features = 0;         // columns without the label
  std::vector<float> values;         // [rows, features]
  std::vector<std::int32_t> labels;  // [rows], each in [0, label_max]
};

/// Fails with `malformed`; `what` names the file.
result<labelled_table> parse_csv(std::string_view content, std::string_view what);

}  // namespace perigee::kernels
