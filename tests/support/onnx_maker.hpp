// ONNX models made by a test, node by node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace perigee::test {

class onnx_maker {
public:
  explicit onnx_maker(std::int64_t opset = 13);
  ~onnx_maker();

  /// -1 = any.
  onnx_maker& input(const std::string& name, const std::vector<std::int64_t>& shape);
  onnx_maker& token_input(const std::string& name, const std::vector<std::int64_t>& shape);
  onnx_maker& output(const std::string& name);
  /// A parameter of small values drawn from its name.
  onnx_maker& weight(const std::string& name, const std::vector<std::int64_t>& shape);
  onnx_maker& numbers(const std::string& name, const std::vector<std::int64_t>& values);
  onnx_maker& reals(const std::string& name, const std::vector<std::int64_t>& shape,
                    const std::vector<float>& values);
  onnx_maker& truths(const std::string& name, const std::vector<std::int64_t>& shape,
                     const std::vector<bool>& values);
  /// A parameter whose data lie in a file beside the model.
  onnx_maker& external(const std::string& name, const std::vector<std::int64_t>& shape,
                       const std::string& location);

  /// An attribute of the node that comes next.
  onnx_maker& with(const std::string& name, std::int64_t value);
  onnx_maker& with(const std::string& name, const std::vector<std::int64_t>& values);
  onnx_maker& with(const std::string& name, float value);
  onnx_maker& node(const std::string& op, const std::vector<std::string>& in,
                   const std::string& out);

  [[nodiscard]] std::string file() const;
  [[nodiscard]] std::vector<std::byte> bytes() const;

private:
  struct parts;
  std::shared_ptr<parts> parts_;
};

}  // namespace perigee::test
