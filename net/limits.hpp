// Every bound of the carriage, by name.
#pragma once

#include "proto/base/units.hpp"

#include <cstddef>
#include <cstdint>

namespace perigee::net::limits {

using namespace std::chrono_literals;

// Frames
inline constexpr std::size_t control_frame_max = std::size_t{64} << 10U;  // its payload
inline constexpr std::size_t hello_max = 1024;                            // payload of a greeting
inline constexpr std::size_t chunk_header_max = 256;  // what stands before the bytes of a chunk

// Links
inline constexpr std::size_t control_queue_max = 4096;  // frames that wait on one link
inline constexpr std::size_t control_queue_bytes_max = std::size_t{8} << 20U;
inline constexpr std::size_t transmit_queue_max = 65536;  // tensors that wait on one link
inline constexpr std::size_t half_open_max = 64;  // connections whose greeting is not finished
inline constexpr std::size_t clients_max = 64;    // linked at once; a further one is refused
inline constexpr int backlog_max = 128;           // connections the kernel keeps for us

// Tensors
inline constexpr std::uint64_t tensor_max = std::uint64_t{64} << 30U;
inline constexpr std::uint64_t chunk_min = std::uint64_t{16} << 10U;
inline constexpr std::uint64_t chunk_max = std::uint64_t{1} << 20U;
inline constexpr duration chunk_time = 50ms;  // a chunk holds its connection no longer than this
inline constexpr std::uint64_t window_max = std::uint64_t{8} << 20U;   // credit of one link
inline constexpr std::uint64_t window_min = std::uint64_t{64} << 10U;  // whatever the pool
inline constexpr std::uint64_t pool_default = std::uint64_t{64} << 20U;
inline constexpr std::size_t scratch_size = std::size_t{64} << 10U;  // unwanted bytes end here

// Time
inline constexpr duration connect_patience = 2s;
inline constexpr duration handshake_patience = 2s;
inline constexpr duration lookup_patience = 5s;  // of the address we listen on
inline constexpr duration back_off_min = 100ms;
inline constexpr duration back_off_max = 2s;
inline constexpr duration heard_period = 100ms;         // on_heard is not called more often
inline constexpr duration silence_of_kernel_max = 30s;  // TCP_USER_TIMEOUT; the machines are faster

}  // namespace perigee::net::limits
