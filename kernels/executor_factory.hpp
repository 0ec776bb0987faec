// From a job's specification to what runs it: the model's profile, and the executor of one peer's
// place in a plan.
//
// Guarantees  the profile is a function of the specification (and the data's classes or vocabulary)
//             alone.
// Threads     each call may run on any thread; the results follow their own rules.
#pragma once

#include "proto/executor.hpp"
#include "proto/job.hpp"
#include "proto/model_profile.hpp"
#include "proto/plan.hpp"

#include <memory>

namespace perigee::kernels {

/// Reads the data and returns `spec` completed: content digests filled in (or, if given, checked:
/// `malformed` names the file that differs). Fails with `io` or `malformed`, naming file and place.
result<specification> completed(const specification& spec);

/// Fails with `unsupported` or `malformed` (naming the field) if the specification cannot be built.
result<model_profile> profile_of(const specification& spec);

/// Builds the executor of `self`'s place in `what`, with the state of `base_step` = 0 drawn from
/// the seed or read from the initial weights. All memory is reserved here; running allocates
/// nothing.
result<std::unique_ptr<executor>> executor_for(const specification& spec, const plan& what,
                                               peer_id self);

}  // namespace perigee::kernels
