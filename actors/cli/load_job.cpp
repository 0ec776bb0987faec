#include "actors/cli/load_job.hpp"

#include "actors/cli/job_file.hpp"
#include "kernels/executor_factory.hpp"
#include "kernels/format/safetensors.hpp"
#include "proto/digest.hpp"

namespace perigee::actors {

result<job_record> load_job(const std::string& path) {
  auto parsed = read_job(path);
  if (!parsed) return parsed.why();
  if (const auto& weights = parsed->spec.initial_weights; !weights.empty()) {
    if (auto readable = kernels::read_safetensors(weights); !readable) return readable.why();
  }
  auto spec = kernels::completed(parsed->spec);
  if (!spec) return spec.why();
  if (auto profile = kernels::profile_of(*spec); !profile) return profile.why();
  return job_record{id_of(*spec), std::move(*spec), std::move(parsed->wanted)};
}

}  // namespace perigee::actors
