#include "kernels/ops/direct.hpp"

#include "kernels/ops/lanes.hpp"

#include <oneapi/dnnl/dnnl.hpp>

#include <omp.h>

#include <algorithm>
#include <string>
#include <unordered_map>

namespace perigee::kernels {
namespace {

using dnnl::memory;
using arguments = std::unordered_map<int, memory>;

std::size_t lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Points a memory at `data`. oneDNN clears the padding of a memory that is pointed anew, so one
/// that stays is left alone.
void point(memory& at, const void* data) {
  auto* handle = const_cast<void*>(data);  // oneDNN's sources are not const
  if (at.get_data_handle() != handle) at.set_data_handle(handle);
}

struct descriptions {
  dnnl::convolution_forward::primitive_desc forward;
  dnnl::convolution_backward_data::primitive_desc data;
  dnnl::convolution_backward_weights::primitive_desc weights;
};

/// Throws dnnl::error if a pass has no implementation at all.
descriptions described(const conv2d_shape& s, const dnnl::engine& engine) {
  const auto extent = [&](std::int64_t in, std::int64_t kernel) {
    return (in + 2 * s.padding - s.dilation * (kernel - 1) - 1) / s.stride + 1;
  };
  constexpr auto f32 = memory::data_type::f32;
  constexpr auto nhwc = memory::format_tag::nhwc;
  const memory::desc in({s.B, s.C, s.H, s.W}, f32, nhwc);
  const memory::desc out({s.B, s.N, extent(s.H, s.KH), extent(s.W, s.KW)}, f32, nhwc);
  const memory::dims plain{s.N, s.C, s.KH, s.KW};
  const memory::dims grouped{s.groups, s.N / s.groups, s.C / s.groups, s.KH, s.KW};
  const memory::desc weight(s.groups == 1 ? plain : grouped, f32, memory::format_tag::any);
  const memory::dims strides{s.stride, s.stride}, pads{s.padding, s.padding};
  const memory::dims gaps{s.dilation - 1, s.dilation - 1};
  constexpr auto how = dnnl::algorithm::convolution_direct;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, how, in, weight, out, strides, gaps, pads, pads}, attr,
      engine);
  return {forward,
          {{how, in, weight, out, strides, gaps, pads, pads}, attr, engine, forward},
          {{how, in, weight, out, strides, gaps, pads, pads}, attr, engine, forward}};
}

/// packed: the weights as forward likes them, then as backward does. scratch: the library's, then
/// the weights' gradient in its layout and in ours. Saves nothing.
class direct final : public op {
public:
  direct(const conv2d_shape& s, const dnnl::engine& engine, const descriptions& d)
      : s_(s),
        engine_(engine),
        stream_(engine),
        forward_(d.forward),
        data_(d.data),
        weights_(d.weights),
        in_(d.forward.src_desc(), engine, nullptr),
        out_(d.forward.dst_desc(), engine, nullptr),
        forward_weight_(d.forward.weights_desc(), engine, nullptr),
        data_weight_(d.data.weights_desc(), engine, nullptr),
        gradient_(d.weights.diff_weights_desc(), engine, nullptr),
        plain_(plain_desc(s), engine, nullptr),
        forward_pad_(d.forward.scratchpad_desc(), engine, nullptr),
        data_pad_(d.data.scratchpad_desc(), engine, nullptr),
        weights_pad_(d.weights.scratchpad_desc(), engine, nullptr),
        to_forward_(plain_, forward_weight_),
        to_data_(plain_, data_weight_),
        to_plain_(gradient_, plain_) {
    data_at_ = lines(d.forward.weights_desc().get_size());
    gradient_at_ =
        lines(std::max({d.forward.scratchpad_desc().get_size(), d.data.scratchpad_desc().get_size(),
                        d.weights.scratchpad_desc().get_size()}));
    plain_at_ = gradient_at_ + lines(d.weights.diff_weights_desc().get_size());
    fill_needs(d);
  }

  const op_needs& needs() const noexcept override { return needs_; }

  void pack(std::span<const float* const> param, std::byte* packed, std::byte*) override {
    omp_set_num_threads(1);
    point(plain_, param[0]);
    point(forward_weight_, packed);
    point(data_weight_, packed + data_at_);
    to_forward_.execute(stream_, plain_, forward_weight_);
    to_data_.execute(stream_, plain_, data_weight_);
  }

  void forward(const op_call& c) override {
    point(in_, c.in[0]), point(out_, c.out[0]);
    point(forward_weight_, c.packed), point(forward_pad_, c.scratch);
    run(forward_, {{DNNL_ARG_SRC, in_},
                   {DNNL_ARG_WEIGHTS, forward_weight_},
                   {DNNL_ARG_DST, out_},
                   {DNNL_ARG_SCRATCHPAD, forward_pad_}});
    if (s_.bias) add_to_rows(c.out[0], rows_, s_.N, c.param[1]);
  }

  void backward_inputs(const op_call& c) override {
    if (c.din[0] == nullptr) return;
    point(in_, c.din[0]), point(out_, c.dout[0]);
    point(data_weight_, c.packed + data_at_), point(data_pad_, c.scratch);
    run(data_, {{DNNL_ARG_DIFF_SRC, in_},
                {DNNL_ARG_WEIGHTS, data_weight_},
                {DNNL_ARG_DIFF_DST, out_},
                {DNNL_ARG_SCRATCHPAD, data_pad_}});
  }

  void backward_weights(const op_call& c) override {
    point(in_, c.in[0]), point(out_, c.dout[0]);
    point(gradient_, c.scratch + gradient_at_), point(weights_pad_, c.scratch);
    run(weights_, {{DNNL_ARG_SRC, in_},
                   {DNNL_ARG_DIFF_WEIGHTS, gradient_},
                   {DNNL_ARG_DIFF_DST, out_},
                   {DNNL_ARG_SCRATCHPAD, weights_pad_}});
    point(plain_, c.scratch + plain_at_);
    to_plain_.execute(stream_, gradient_, plain_);
    const auto* part = reinterpret_cast<const float*>(c.scratch + plain_at_);
    for (std::size_t i = 0; i < needs_.param_count[0]; ++i) c.dparam[0][i] += part[i];
    if (s_.bias) add_column_sums(c.dout[0], rows_, s_.N, c.dparam[1]);
  }

private:
  static memory::desc plain_desc(const conv2d_shape& s) {
    constexpr auto f32 = memory::data_type::f32;
    if (s.groups == 1) return memory::desc({s.N, s.C, s.KH, s.KW}, f32, memory::format_tag::oihw);
    return memory::desc({s.groups, s.N / s.groups, s.C / s.groups, s.KH, s.KW}, f32,
                        memory::format_tag::goihw);
  }

  void run(const dnnl::primitive& what, const arguments& with) {
    omp_set_num_threads(1);  // of this thread only; costs a store
    what.execute(stream_, with);
  }

  void fill_needs(const descriptions& d) {
    const std::size_t outputs = d.forward.dst_desc().get_size() / sizeof(float);
    rows_ = static_cast<std::int64_t>(outputs) / s_.N;
    const std::size_t weights = plain_.get_desc().get_size() / sizeof(float);
    needs_.out_count = {outputs};
    needs_.param_count = {weights};
    if (s_.bias) needs_.param_count.push_back(static_cast<std::size_t>(s_.N));
    needs_.backward_reads_in = {true};
    needs_.packed_bytes = data_at_ + lines(d.data.weights_desc().get_size());
    needs_.scratch_bytes = plain_at_ + weights * sizeof(float);
    needs_.forward_work = 2 * static_cast<std::size_t>(rows_) * weights;
    needs_.backward_work = 2 * needs_.forward_work;
  }

  conv2d_shape s_;
  std::int64_t rows_ = 0;
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::convolution_forward forward_;
  dnnl::convolution_backward_data data_;
  dnnl::convolution_backward_weights weights_;
  memory in_, out_, forward_weight_, data_weight_, gradient_, plain_;
  memory forward_pad_, data_pad_, weights_pad_;
  dnnl::reorder to_forward_, to_data_, to_plain_;
  std::size_t data_at_ = 0, gradient_at_ = 0, plain_at_ = 0;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_direct(const conv2d_shape& s) {
  omp_set_num_threads(1);  // part of what oneDNN builds for
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const descriptions d = described(s, engine);
    for (const std::string name :
         {d.forward.impl_info_str(), d.data.impl_info_str(), d.weights.impl_info_str()})
      if (name.starts_with("ref"))
        return error{errc::unsupported, "conv2d: oneDNN has only `" + name + "` for this shape"};
    return op_ptr(std::make_unique<direct>(s, engine, d));
  } catch (const dnnl::error& e) {
    return error{errc::unsupported, "conv2d: oneDNN refuses this shape: " + std::string(e.what())};
  }
}

}  // namespace perigee::kernels
