#include "actors/cli/load_job.hpp"

#include "actors/cli/job_file.hpp"
#include "kernels/executor_factory.hpp"
#include "proto/digest.hpp"

namespace perigee::actors {

result<job_record> load_job(const std::string& path) {
  auto parsed = read_job(path);
  if (!parsed) return parsed.why();
  auto spec = kernels::completed(parsed->spec);
  if (!spec) return spec.why();
  if (auto profile = kernels::profile_of(*spec); !profile) return profile.why();
  return job_record{id_of(*spec), std::move(*spec), std::move(parsed->wanted)};
}

}  // namespace perigee::actors
