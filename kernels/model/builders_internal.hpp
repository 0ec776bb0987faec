// The builder of each kind of model; build_model (builders.hpp) checks the common fields and calls
// one of them.
#pragma once

#include "kernels/model/builders.hpp"

namespace perigee::kernels {

result<model_graph> build_mlp(const model_spec&, const dataset_info&, const build_options&);
result<model_graph> build_resnet(const model_spec&, const dataset_info&, const build_options&);
result<model_graph> build_onnx(const model_spec& spec, const dataset_info& data,
                               const build_options& options);
result<model_graph> build_gpt(const model_spec&, const dataset_info&, const build_options&);

}  // namespace perigee::kernels
