#include "actors/cli/load_job.hpp"

#include "kernels/calibrate.hpp"
#include "kernels/executor_factory.hpp"
#include "kernels/weights.hpp"
#include "proto/digest.hpp"

namespace perigee::actors {

result<job_record> load_job(const std::string& path) {
  auto parsed = read_job(path);
  if (!parsed) return parsed.why();
  return job_of(std::move(*parsed));
}

result<job_record> job_of(job_file parsed) {
  if (!parsed.spec.isa.empty()) {
    if (auto capped = kernels::cap_isa(parsed.spec.isa); !capped) return capped.why();
  }
  auto spec = kernels::completed(parsed.spec);
  if (!spec) return spec.why();
  if (auto profile = kernels::profile_of(*spec); !profile) return profile.why();
  if (auto fits = kernels::check_initial_weights(*spec); !fits) return fits.why();
  return job_record{id_of(*spec), std::move(*spec), std::move(parsed.wanted), 0};
}

}  // namespace perigee::actors
