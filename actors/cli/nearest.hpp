// What somebody may have meant by a name that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perigee::actors {

/// Returns the nearest of `names` if it is near enough to be a slip of `wrong`, else nothing.
[[nodiscard]] std::string nearest(std::string_view wrong, const std::vector<std::string>& names);

}  // namespace perigee::actors
