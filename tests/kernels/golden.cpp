#include "tests/kernels/golden.hpp"

#include "tests/kernels/op_run.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>

namespace perigee::kernels::testing {
namespace {

template <class T>
std::vector<T> elements(const named_tensor& t) {
  std::vector<T> all(t.data.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), t.data.data(), t.data.size());
  return all;
}

}  // namespace

std::vector<std::string> golden_files(const std::string& folder) {
  const char* named = std::getenv("PERIGEE_GOLDENS");
  const std::filesystem::path where =
      std::filesystem::path(named != nullptr ? named : "../shared/goldens") / folder;
  std::vector<std::string> all;
  if (std::filesystem::is_directory(where))
    for (const auto& entry : std::filesystem::directory_iterator(where))
      all.push_back(entry.path().string());
  if (all.empty())
    throw std::runtime_error("no golden files in " + where.string() + ": set PERIGEE_GOLDENS");
  std::sort(all.begin(), all.end());
  return all;
}

golden::golden(const std::string& path) : path_(path) {
  result<tensor_file> read = read_safetensors(path);
  if (!read) throw std::runtime_error(read.why().what);
  file_ = std::move(*read);
}

std::string golden::name() const { return std::filesystem::path(path_).filename().string(); }

bool golden::has(const std::string& name) const { return file_.find(name) != nullptr; }

std::string golden::metadata(const std::string& key) const {
  const auto found = file_.metadata.find(key);
  return found == file_.metadata.end() ? "" : found->second;
}

std::vector<std::string> golden::names(const std::string& start) const {
  std::vector<std::string> all;
  for (const named_tensor& t : file_.tensors)
    if (t.name.starts_with(start)) all.push_back(t.name);
  std::sort(all.begin(), all.end());
  return all;
}

const named_tensor& golden::tensor(const std::string& name) const {
  const named_tensor* found = file_.find(name);
  if (found == nullptr) throw std::runtime_error("has no tensor " + name);
  return *found;
}

std::vector<std::int64_t> golden::shape(const std::string& name) const {
  return tensor(name).shape;
}

std::vector<float> golden::floats(const std::string& name) const {
  if (tensor(name).type != dtype::f32) throw std::runtime_error(name + " is not F32");
  return elements<float>(tensor(name));
}

std::vector<std::int32_t> golden::numbers(const std::string& name) const {
  if (tensor(name).type != dtype::i64) throw std::runtime_error(name + " is not I64");
  std::vector<std::int32_t> all;
  for (const std::int64_t x : elements<std::int64_t>(tensor(name))) {
    if (x < std::numeric_limits<std::int32_t>::min() ||
        x > std::numeric_limits<std::int32_t>::max())
      throw std::runtime_error(name + " has a number beyond 32 bits");
    all.push_back(static_cast<std::int32_t>(x));
  }
  return all;
}

std::vector<float> golden::image(const std::string& name) const {
  const std::vector<float> from = floats(name);
  const std::vector<std::int64_t> s = shape(name);
  if (s.size() != 4) return from;
  const auto B = static_cast<std::size_t>(s[0]), C = static_cast<std::size_t>(s[1]),
             P = static_cast<std::size_t>(s[2] * s[3]);
  std::vector<float> to(from.size());
  for (std::size_t b = 0; b < B; ++b)
    for (std::size_t c = 0; c < C; ++c)
      for (std::size_t p = 0; p < P; ++p) to[(b * P + p) * C + c] = from[(b * C + c) * P + p];
  return to;
}

void golden::judge(const std::string& name, const std::vector<float>& got) {
  note(name, worst_error(got, floats(name)));
}

void golden::judge_image(const std::string& name, const std::vector<float>& got) {
  note(name, worst_error(got, image(name)));
}

void golden::note(const std::string& name, double error) {
  char text[32];
  std::snprintf(text, sizeof text, " %.1e", error);
  notes_ += (notes_.empty() ? "" : ", ") + name + text;
  judged_.insert(name);
  if (!(error <= worst_)) worst_ = error;
}

std::string golden::verdict() const {
  for (const char* start : {"out.", "grad.", "running_"})
    for (const std::string& name : names(start))
      if (!judged_.contains(name)) throw std::runtime_error("tensor " + name + " is not judged");
  if (judged_.empty()) throw std::runtime_error("has nothing to judge");
  return notes_;
}

golden_attributes::golden_attributes(const std::string& json)
    : all_(json.empty() ? nlohmann::json::object() : nlohmann::json::parse(json)) {}

void golden_attributes::all_used() const {
  for (const auto& [key, value] : all_.items())
    if (!asked_.contains(key)) throw std::runtime_error("attribute " + key + " is not known");
}

}  // namespace perigee::kernels::testing
