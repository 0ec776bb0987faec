// The jobs that the benchmarks run: real models of a size at which a step takes about a second.
#pragma once

#include "proto/base/result.hpp"
#include "proto/message.hpp"
#include "tests/support/temporary_folder.hpp"

#include <string>

namespace perigee::bench {

struct workload {
  std::string name;
  job_record job;  // without end: who runs it stops when it has seen enough
};

/// ResNet-18 on images of 32 x 32 x 3, drawn here and written into `folder`.
result<workload> resnet18(const test::temporary_folder& folder);

/// A transformer of width 384 on a text that every Debian machine has.
result<workload> gpt384();

}  // namespace perigee::bench
