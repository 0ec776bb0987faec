#include "actors/workshop_actor.hpp"

#include "actors/last_words.hpp"
#include "kernels/calibrate.hpp"
#include "kernels/engine.hpp"
#include "kernels/executor_factory.hpp"
#include "kernels/model/profile.hpp"
#include "proto/digest.hpp"

#include <exception>
#include <new>

namespace perigee::actors {

namespace {

/// Runs what may run out of memory or meet a library's exception; the job is refused then, the peer
/// lives.
template <class Made, class Make>
result<Made> guarded(const Make& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return error{errc::exhausted, "this machine has no memory left for it"};
  } catch (const std::exception& e) { return error{errc::unsupported, e.what()}; }
}

result<model_profile> profile_for(const job_record& job) {
  if (id_of(job.spec) != job.job) {
    return error{errc::malformed, "job " + text(job.job) + " is not named by its specification"};
  }
  return guarded<model_profile>([&] { return kernels::profile_of(job.spec); });
}

planner::prepared prepared_by(const prepare_order& order, peer_id id, shelf& executors) {
  const plan& what = order.what.what;
  auto built = guarded<std::unique_ptr<executor>>(
      [&] { return kernels::executor_for(order.spec, what, id); });
  if (!built) return {what.job, what.epoch, built.why()};
  const auto layers = what.stages.back().layer_first + what.stages.back().layer_count;
  executors.put({what, place_of(what, id), kernels::blank_profile(order.spec, layers)},
                std::move(*built));
  return {what.job, what.epoch, {}};
}

}  // namespace

caf::behavior workshop_actor(caf::event_based_actor* self, peer_id id,
                             std::shared_ptr<shelf> executors) {
  end_process_on_exception(self);
  kernels::enter_lane();
  return {
      [](const profile_order& order) -> planner::event {
        return planner::profiled{order.what.job, profile_for(order.what)};
      },
      [=](const prepare_order& order) -> planner::event {
        return prepared_by(order, id, *executors);
      },
      [](calibrate_order order) -> planner::event {
        auto measured = kernels::calibrate();
        for (auto& rate : measured.rate) rate = rate * order.share_percent / 100;
        return planner::calibrated{measured.rate, measured.fingerprint};
      },
  };
}

}  // namespace perigee::actors
