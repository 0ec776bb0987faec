#include "kernels/model/state.hpp"

#include "proto/base/check.hpp"
#include "proto/base/hash.hpp"
#include "proto/base/random.hpp"

#include <algorithm>
#include <cstring>

namespace perigee::kernels {

namespace {

void draw(const parameter& p, std::uint64_t seed, std::span<float> out) {
  random numbers(seed, purpose::weights, hash_of(p.name));
  const auto scale = static_cast<float>(p.begins.scale);
  switch (p.begins.kind) {
    case initial_kind::zero:
      std::fill(out.begin(), out.end(), 0.0F);
      return;
    case initial_kind::one:
      std::fill(out.begin(), out.end(), 1.0F);
      return;
    case initial_kind::uniform:
      for (float& x : out) x = (2 * numbers.uniform() - 1) * scale;
      return;
    case initial_kind::normal:
      for (float& x : out) x = numbers.normal() * scale;
      return;
  }
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string s = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    s += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return s + "]";
}

/// Copies [rows, columns] to [columns, rows].
void swap_dimensions(const float* from, float* to, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
}

std::vector<std::int64_t> shape_in_files(const parameter& p) {
  return p.transposed ? std::vector<std::int64_t>{p.shape[1], p.shape[0]} : p.shape;
}

result<void> read_tensor(const tensor_file& file, const std::string& name,
                         const std::vector<std::int64_t>& shape, std::span<float> out) {
  const named_tensor* t = file.find(name);
  if (t == nullptr) return error{errc::malformed, "weights: no tensor " + name};
  if (t->type != dtype::f32)
    return error{errc::malformed,
                 "weights: " + name + " is " + std::string(text(t->type)) + ", the model's is F32"};
  if (t->shape != shape)
    return error{errc::malformed, "weights: " + name + " has shape " + shape_text(t->shape) +
                                      ", the model's is " + shape_text(shape)};
  CHECK(t->data.size() == out.size_bytes());
  std::memcpy(out.data(), t->data.data(), t->data.size());
  return {};
}

named_tensor written(std::string name, std::vector<std::int64_t> shape,
                     std::span<const float> from) {
  const auto raw = std::as_bytes(from);
  return {std::move(name), dtype::f32, std::move(shape), {raw.begin(), raw.end()}};
}

constexpr const char* running_names[] = {".running_mean", ".running_var"};

}  // namespace

void draw_state(const layer_graph& layer, const layer_layout& layout, std::uint64_t seed,
                std::span<float> state) {
  const auto parameters = parameters_of(layer);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    draw(*parameters[i], seed,
         state.subspan(layout.parameters[i].offset, layout.parameters[i].count));
  for (const running_place& r : layout.running) {
    const auto both = state.subspan(layout.state_running() + r.offset, 2 * r.channels);
    std::fill_n(both.begin(), r.channels, 0.0F);
    std::fill_n(both.begin() + static_cast<std::ptrdiff_t>(r.channels), r.channels, 1.0F);
  }
}

result<void> read_state(const layer_graph& layer, const layer_layout& layout,
                        const tensor_file& file, std::span<float> state) {
  const auto parameters = parameters_of(layer);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto out = state.subspan(layout.parameters[i].offset, layout.parameters[i].count);
    const parameter& p = *parameters[i];
    if (auto ok = read_tensor(file, p.name, shape_in_files(p), out); !ok) return ok;
    if (!p.transposed) continue;
    const std::vector<float> as_read(out.begin(), out.end());
    swap_dimensions(as_read.data(), out.data(), p.shape[1], p.shape[0]);
  }
  for (const running_place& r : layout.running) {
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t offset = layout.state_running() + r.offset + k * r.channels;
      const std::vector<std::int64_t> shape{static_cast<std::int64_t>(r.channels)};
      auto ok =
          read_tensor(file, r.prefix + running_names[k], shape, state.subspan(offset, r.channels));
      if (!ok) return ok;
    }
  }
  return {};
}

std::vector<named_tensor> written_state(const layer_graph& layer, const layer_layout& layout,
                                        std::span<const float> state) {
  std::vector<named_tensor> all;
  const auto parameters = parameters_of(layer);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const parameter& p = *parameters[i];
    const auto own = state.subspan(layout.parameters[i].offset, layout.parameters[i].count);
    std::vector<float> swapped;
    if (p.transposed) {
      swapped.resize(own.size());
      swap_dimensions(own.data(), swapped.data(), p.shape[0], p.shape[1]);
    }
    all.push_back(
        written(p.name, shape_in_files(p), p.transposed ? std::span<const float>(swapped) : own));
  }
  for (const running_place& r : layout.running) {
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t offset = layout.state_running() + r.offset + k * r.channels;
      all.push_back(written(r.prefix + running_names[k], {static_cast<std::int64_t>(r.channels)},
                            state.subspan(offset, r.channels)));
    }
  }
  return all;
}

}  // namespace perigee::kernels
