// Bringing a trained model together: each layer's state from a peer that holds it.
#pragma once

#include "actors/runtime.hpp"
#include "kernels/format/safetensors.hpp"
#include "net/tcp/client.hpp"
#include "proto/message.hpp"

namespace perigee::actors {

/// Asks `via` who holds what, then each holder for its layers. Fails with `unavailable` if the job
/// still runs or a holder is gone, naming the layer and the peer.
/// `stop` may be null, and ends the waiting.
result<kernels::tensor_file> collect(net::client& via, const job_record& job,
                                     const net::alarm* stop = nullptr);

/// The same from a runtime of this process, which holds them all.
result<kernels::tensor_file> collect(const runtime& from, const job_record& job,
                                     const progress& last);

}  // namespace perigee::actors
