// Sizes on the command line.
#pragma once

#include <CLI/Validators.hpp>

#include <string>

namespace perigee::actors {

/// Turns e.g. "512MiB" into bytes. CLI11 alone takes "-1" for the largest number.
[[nodiscard]] inline CLI::Validator memory_size() {
  return {[](std::string& given) -> std::string {
            if (given.find('-') != std::string::npos)
              return given + " is no size; for example 512MiB";
            return CLI::AsSizeValue(false)(given);
          },
          "SIZE"};
}

}  // namespace perigee::actors
