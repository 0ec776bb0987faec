// Operators on images [B,C,H,W].

#include "kernels/model/onnx/tracer.hpp"

#include <cmath>

namespace perigee::kernels {

namespace {

/// Returns the number that all of `numbers` are, or -1.
std::int64_t common(const extents& numbers, std::int64_t otherwise) {
  if (numbers.empty()) return otherwise;
  for (const std::int64_t x : numbers)
    if (x != numbers[0]) return -1;
  return numbers[0];
}

}  // namespace

/// What a window over height and width is told; each is one number for both.
struct window {
  std::int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  [[nodiscard]] std::int64_t slid(std::int64_t size) const noexcept {
    return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
};

result<window> node_tracer::window_of(const extents& kernel) const {
  const auto listed = [&](std::string_view name) {
    const auto* a = node_.find(name);
    return a == nullptr ? extents{} : a->numbers;
  };
  window w;
  w.kernel = common(kernel, 1);
  w.stride = common(listed("strides"), 1);
  w.padding = common(listed("pads"), 0);
  w.dilation = common(listed("dilations"), 1);
  const auto* automatic = node_.find("auto_pad");
  const bool stated =
      automatic == nullptr || automatic->word == "NOTSET" || automatic->word == "VALID";
  if (!stated) return refuse("auto_pad is " + automatic->word + "; export with explicit pads");
  if (w.stride < 1 || w.dilation < 1 || w.padding < 0)
    return refuse("strides, pads and dilations must be the same in all directions");
  constexpr std::int64_t window_max = 1 << 20;
  if (w.stride > window_max || w.dilation > window_max || w.padding > window_max)
    return refuse("strides, pads or dilations are out of range");
  if (number("ceil_mode", 0) != 0) return refuse("ceil_mode is set");
  return w;
}

result<void> node_tracer::trace_conv() {
  if (value(0).shape.size() != 4) return refuse("its input is no image [B,C,H,W]");
  if (!is(0, flow_kind::data) || !as_parameter(1)) return refuse("its weights are no parameter");
  const extents x = value(0).shape, w = value(1).shape;
  const std::int64_t groups = number("group", 1);
  if (w.size() != 4 || groups < 1 || w[1] * groups != x[1] || w[0] % groups != 0)
    return refuse("the shape of its weights does not fit its input");
  auto how = window_of({});
  if (!how) return how.why();
  const auto slid = [&](std::int64_t size, std::int64_t kernel) {
    window one = *how;
    one.kernel = kernel;
    return one.slid(size);
  };
  const extents shape{x[0], w[0], slid(x[2], w[2]), slid(x[3], w[3])};
  if (shape[2] < 1 || shape[3] < 1) return refuse("its kernel is larger than its input");
  std::vector<std::uint32_t> in{in_[0], in_[1]};
  if (has(2)) {
    if (!as_parameter(2) || value(2).shape != extents{w[0]})
      return refuse("its bias is no parameter of one value a channel");
    in.push_back(in_[2]);
  }
  flow_detail detail;
  detail.numbers = {how->stride, how->padding, how->dilation, groups};
  define(0, add("Conv", std::move(in), shape, std::move(detail)));
  return {};
}

result<void> node_tracer::trace_batch_norm() {
  const extents shape = value(0).shape;
  if (shape.size() != 2 && shape.size() != 4)
    return refuse("its input is neither [B,C] nor [B,C,H,W]");
  for (const std::size_t i : {1U, 2U, 3U, 4U})
    if (!as_parameter(i) || value(i).shape != extents{shape[1]})
      return refuse("scale, bias, mean and variance must be parameters of one value a channel");
  flow_detail how;
  how.low = real("epsilon", 1e-5);
  // ONNX keeps the other share, in f32: what PyTorch was told has few digits.
  how.high = std::round((1 - real("momentum", 0.9)) * 1e6) / 1e6;
  if (!(how.high >= 0 && how.high <= 1)) return refuse("its momentum is not in [0, 1]");
  define(0, add("BatchNorm", in_, shape, how));
  return {};
}

result<void> node_tracer::trace_pool() {
  const extents x = value(0).shape;
  if (x.size() != 4 || !is(0, flow_kind::data)) return refuse("its input is no image [B,C,H,W]");
  if (node_.out.size() > 1 && !node_.out[1].empty()) return refuse("its indices are asked for");
  const auto* kernel = node_.find("kernel_shape");
  auto how = window_of(kernel == nullptr ? extents{} : kernel->numbers);
  if (!how) return how.why();
  if (how->kernel < 1 || how->kernel > (1 << 20)) return refuse("its kernel is not square");
  if (how->dilation != 1) return refuse("it is dilated");
  if (how->padding > how->kernel / 2) return refuse("its padding is more than half its kernel");
  if (node_.op == "AveragePool" && how->padding != 0 && number("count_include_pad", 0) == 0)
    return refuse("padding does not count; set count_include_pad");
  const extents shape{x[0], x[1], how->slid(x[2]), how->slid(x[3])};
  if (shape[2] < 1 || shape[3] < 1) return refuse("its kernel is larger than its input");
  flow_detail detail;
  detail.numbers = {how->kernel, how->stride, how->padding};
  return define_over_first(node_.op, shape, std::move(detail));
}

result<void> node_tracer::trace_global_pool() {
  const extents x = value(0).shape;
  if (x.size() != 4 || !is(0, flow_kind::data)) return refuse("its input is no image [B,C,H,W]");
  return define_over_first("GlobalAveragePool", {x[0], x[1], 1, 1});
}

}  // namespace perigee::kernels
