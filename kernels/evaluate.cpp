#include "kernels/evaluate.hpp"

#include "kernels/ops/vector_math.hpp"
#include "kernels/whole_model.hpp"
#include "proto/base/random.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

namespace perigee::kernels {

namespace {

void read_batch(const dataset& data, split part, std::uint64_t first, whole_model& model) {
  const std::size_t samples_targets =
      data.info().kind == sample_kind::tokens ? static_cast<std::size_t>(data.info().T) : 1;
  const std::size_t count = model.targets().size() / samples_targets;
  for (std::size_t i = 0; i < count; ++i) {
    data.input(part, first + i, model.input() + i * model.sample_bytes());
    data.target(part, first + i, model.targets().data() + i * samples_targets);
  }
}

std::size_t likeliest(std::span<const float> row) {
  return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

void count_batch(whole_model& model, evaluation& e) {
  e.loss += model.run();
  const auto targets = model.targets();
  const std::size_t classes = model.logits().size() / targets.size();
  for (std::size_t r = 0; r < targets.size(); ++r) {
    if (targets[r] == not_counted) continue;
    ++e.counted;
    const std::size_t guess = likeliest(model.logits().subspan(r * classes, classes));
    e.correct += guess == static_cast<std::size_t>(targets[r]) ? 1 : 0;
  }
}

// --- text
// -----------------------------------------------------------------------------------------

/// The vocabulary by its symbols, longest first where one begins another.
std::map<std::string, std::int32_t, std::greater<>> symbols_of(const dataset& data) {
  std::map<std::string, std::int32_t, std::greater<>> symbols;
  for (std::int32_t id = 0; id < data.info().classes; ++id)
    if (std::string symbol = data.symbol(id); !symbol.empty()) symbols.emplace(symbol, id);
  return symbols;
}

result<std::vector<std::int32_t>> tokens_of(const dataset& data, std::string_view prompt) {
  const auto symbols = symbols_of(data);
  std::vector<std::int32_t> tokens;
  std::size_t at = 0;
  while (at < prompt.size()) {
    const auto rest = prompt.substr(at);
    const auto found = std::find_if(symbols.begin(), symbols.end(), [&](const auto& entry) {
      return rest.substr(0, entry.first.size()) == entry.first;
    });
    if (found == symbols.end())
      return error{errc::malformed, "prompt: byte " + std::to_string(at + 1) +
                                        " begins a symbol that the text does not have"};
    tokens.push_back(found->second);
    at += found->first.size();
  }
  if (!tokens.empty()) return tokens;
  const auto line = symbols.find("\n");
  tokens.push_back(line == symbols.end() ? 0 : line->second);
  return tokens;
}

std::int32_t drawn(std::span<const float> logits, std::uint32_t permille, random& numbers) {
  const std::size_t best = likeliest(logits);
  if (permille == 0) return static_cast<std::int32_t>(best);
  const float scale = 1000.0F / static_cast<float>(permille);
  std::vector<double> sums;
  double sum = 0;
  for (const float x : logits) {
    sum += double{vector_exp((x - logits[best]) * scale)};
    sums.push_back(sum);
  }
  const double target = double{numbers.uniform()} * sum;
  const auto at = std::upper_bound(sums.begin(), sums.end(), target);
  return static_cast<std::int32_t>(
      std::min<std::ptrdiff_t>(at - sums.begin(), static_cast<std::ptrdiff_t>(logits.size()) - 1));
}

/// Returns the logits after the last tokens, as many as fit the context. What stands behind them
/// does not matter: attention is causal.
std::span<const float> next_logits(whole_model& model, std::span<const std::int32_t> tokens) {
  const std::size_t T = model.targets().size();
  const std::size_t count = std::min(T, tokens.size());
  auto* input = reinterpret_cast<std::int32_t*>(model.input());
  std::fill_n(input, T, 0);
  std::copy_n(tokens.end() - static_cast<std::ptrdiff_t>(count), count, input);
  (void)model.run();
  const std::size_t V = model.logits().size() / T;
  return model.logits().subspan((count - 1) * V, V);
}

bool over(const stop_test& stopped) { return stopped && stopped(); }

const error was_stopped{errc::unavailable, "stopped"};

}  // namespace

result<evaluation> evaluate(const specification& spec, const dataset& data,
                            const tensor_file& weights, const judged_part& of) {
  const dataset_info& info = data.info();
  const std::uint64_t have =
      of.part == split::training ? info.training_count : info.validation_count;
  evaluation e;
  e.samples = std::min(have, of.samples_max);
  std::uint64_t at = 0;
  while (at < e.samples) {
    // Whole batches first; the rest has a model of its own size.
    const std::uint64_t batch = std::min<std::uint64_t>(spec.micro_batch, e.samples - at);
    auto model = whole_model::built(spec, info, weights, static_cast<std::int64_t>(batch));
    if (!model) return model.why();
    for (; at + batch <= e.samples; at += batch) {
      if (over(of.stopped)) return was_stopped;
      read_batch(data, of.part, at, **model);
      count_batch(**model, e);
    }
  }
  if (e.counted > 0) e.loss /= static_cast<double>(e.counted);
  return e;
}

result<std::string> generate(const specification& spec, const dataset& data,
                             const tensor_file& weights, const generation& how) {
  if (spec.model.kind != model_kind::gpt)
    return error{errc::unsupported, "generate text: the model is no gpt"};
  auto tokens = tokens_of(data, how.prompt);
  if (!tokens) return tokens.why();
  auto model = whole_model::built(spec, data.info(), weights, 1);
  if (!model) return model.why();
  std::fill((*model)->targets().begin(), (*model)->targets().end(), not_counted);
  random numbers(how.seed, purpose::sampling, 0);
  std::string text;
  for (std::uint32_t i = 0; i < how.count; ++i) {
    if (over(how.stopped)) return was_stopped;
    const auto logits = next_logits(**model, *tokens);
    tokens->push_back(drawn(logits, how.temperature_permille, numbers));
    text += data.symbol(tokens->back());
  }
  return text;
}

}  // namespace perigee::kernels
