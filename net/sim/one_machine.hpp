// The answer that every plan must give: a job's values computed by plain loops, as one machine
// would.
//
// Threads  none; pure functions.
#pragma once

#include "proto/job.hpp"
#include "proto/model_profile.hpp"

#include <vector>

namespace perigee::net {

struct final_values {
  std::vector<digest128> states;  // of each layer after the last step
  std::uint64_t loss_bits = 0;    // of the last step
  friend bool operator==(const final_values&, const final_values&) = default;
};

[[nodiscard]] final_values one_machine(const specification& spec, const model_profile& model);

}  // namespace perigee::net
