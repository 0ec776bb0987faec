#include "tests/bench/baselines.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace perigee::bench {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

std::vector<std::uint32_t> run(std::uint32_t first, std::uint32_t end) {
  std::vector<std::uint32_t> all(end - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::vector<double> sums(const std::vector<double>& each) {
  std::vector<double> all{0};
  for (const double e : each) all.push_back(all.back() + e);
  return all;
}

double sum_of(const std::vector<double>& each, const chain_stage& at) {
  double sum = 0;
  for (std::uint32_t l = at.layer_first; l < at.layer_first + at.layer_count; ++l) sum += each[l];
  return sum;
}

/// Returns how long the slowest device takes for its share, at one second a sample.
double slowest(const chain_setting& s, const chain_stage& at) {
  double most = 0;
  for (std::size_t d = 0; d < at.devices.size(); ++d)
    most = std::max(most, at.shares[d] / s.speed[at.devices[d]]);
  return most;
}

double crossing(const chain_setting& s, const chain_stage& a, const chain_stage& b) {
  const auto lanes = std::min(a.devices.size(), b.devices.size());
  return s.boundary[b.layer_first - 1] * s.samples / static_cast<double>(lanes);
}

double ring(const chain_setting& s, const chain_stage& at) {
  const auto g = static_cast<double>(at.devices.size());
  return 2 * (g - 1) / g * sum_of(s.gradient, at);
}

/// What the DP keeps of the best plan of a suffix: enough for J = (M - 1) T + R + ex.
struct suffix {
  double longest = 0;
  double path = 0;
  double beyond = -never;  // reductions that draining does not hide
  double total = never;
  std::uint32_t layers = 0;   // of the first stage
  std::uint32_t devices = 0;  // of the first stage
};

class hpp {
public:
  hpp(const chain_setting& s, diligence how)
      : s_(s),
        how_(how),
        layers_(static_cast<std::uint32_t>(s.forward.size())),
        devices_(static_cast<std::uint32_t>(s.speed.size())),
        forward_(sums(s.forward)),
        backward_(sums(s.backward)),
        gradient_(sums(s.gradient)) {
    pace_.resize(std::size_t{devices_} * (devices_ + 1));
    shares_.resize(pace_.size());
    for (std::uint32_t a = 0; a < devices_; ++a)
      for (std::uint32_t b = a + 1; b <= devices_; ++b) pour(a, b);
    table_.resize(std::size_t{layers_ + 1} * (devices_ + 1) * (devices_ + 1));
  }

  chain_plan best() {
    const std::uint32_t most = std::min(layers_, devices_);
    for (std::uint32_t p = 1; p <= most; ++p)
      for (std::uint32_t n = p; n <= devices_; ++n)
        for (std::uint32_t l = p; l <= layers_; ++l) fill(l, n, p);
    std::uint32_t stages = 1;
    for (std::uint32_t p = 2; p <= most; ++p)
      if (at(layers_, devices_, p).total < at(layers_, devices_, stages).total) stages = p;
    return trace(stages);
  }

private:
  suffix& at(std::uint32_t l, std::uint32_t n, std::uint32_t p) {
    return table_[(std::size_t{l} * (devices_ + 1) + n) * (devices_ + 1) + p];
  }

  void pour(std::uint32_t a, std::uint32_t b) {
    const std::size_t index = std::size_t{a} * (devices_ + 1) + b;
    chain_stage group{0, 0, run(a, b), {}};
    if (group.devices.size() > s_.samples) {
      pace_[index] = never;
      return;
    }
    group.shares = shares_for(s_, group.devices);
    pace_[index] = slowest(s_, group);
    shares_[index] = std::move(group.shares);
  }

  /// As published, the shares are allocated anew for each candidate stage.
  double pace(std::uint32_t a, std::uint32_t b) {
    if (how_ == diligence::as_published) pour(a, b);
    return pace_[std::size_t{a} * (devices_ + 1) + b];
  }

  void fill(std::uint32_t l, std::uint32_t n, std::uint32_t p) {
    suffix& here = at(l, n, p);
    const std::uint32_t first = layers_ - l;
    const std::uint32_t from = devices_ - n;
    if (p == 1) {
      extend(here, {first, l, from, n}, nullptr);
      return;
    }
    for (std::uint32_t g = 1; g + p - 1 <= n; ++g)
      for (std::uint32_t count = 1; count + p - 1 <= l; ++count)
        extend(here, {first, count, from, g}, &at(l - count, n - g, p - 1));
  }

  struct head {
    std::uint32_t layer_first = 0;
    std::uint32_t layers = 0;
    std::uint32_t device_first = 0;
    std::uint32_t devices = 0;
  };

  void extend(suffix& into, const head& h, const suffix* rest) {
    if (rest != nullptr && rest->total == never) return;
    const double each = pace(h.device_first, h.device_first + h.devices);
    if (each == never) return;
    const std::uint32_t end = h.layer_first + h.layers;
    const double backward = each * (backward_[end] - backward_[h.layer_first]);
    const double both = backward + each * (forward_[end] - forward_[h.layer_first]);
    const double g = h.devices;
    const double reduce = 2 * (g - 1) / g * (gradient_[end] - gradient_[h.layer_first]);
    suffix made{both, both, reduce, 0, h.layers, h.devices};
    if (rest != nullptr) {
      const double lanes = std::min(h.devices, rest->devices);
      const double link = s_.boundary[end - 1] * s_.samples / lanes;
      made.longest = std::max({both, 2 * link, rest->longest});
      made.path = both + 2 * link + rest->path;
      made.beyond = std::max(reduce, rest->beyond - link - backward);
    }
    made.total = (s_.rounds - 1) * made.longest + made.path + std::max(0.0, made.beyond);
    if (made.total < into.total) into = made;
  }

  chain_plan trace(std::uint32_t stages) {
    chain_plan plan;
    std::uint32_t l = layers_;
    std::uint32_t n = devices_;
    for (std::uint32_t p = stages; p > 0; --p) {
      const suffix here = at(l, n, p);
      const std::uint32_t from = devices_ - n;
      plan.push_back({layers_ - l, here.layers, run(from, from + here.devices),
                      shares_[std::size_t{from} * (devices_ + 1) + from + here.devices]});
      l -= here.layers;
      n -= here.devices;
    }
    return plan;
  }

  const chain_setting& s_;
  diligence how_;
  std::uint32_t layers_;
  std::uint32_t devices_;
  std::vector<double> forward_;
  std::vector<double> backward_;
  std::vector<double> gradient_;
  std::vector<double> pace_;
  std::vector<std::vector<std::uint32_t>> shares_;
  std::vector<suffix> table_;
};

/// One pass of one stage, or one transfer, as a resource that does them in order.
struct stage_clock {
  double forward = 0;
  double backward = 0;
  std::uint32_t depth = 1;
  std::uint32_t forwards = 0;
  std::uint32_t backwards = 0;
  double free_at = 0;
  double down_at = 0;        // the link behind, towards the end
  double up_at = 0;          // and back
  std::vector<double> here;  // when a micro-batch has come
  std::vector<double> back;  // when its gradient has come
};

/// Does the next pass of a stage if what it needs has come; returns whether it did.
bool advance(std::vector<stage_clock>& all, std::size_t p, const std::vector<double>& links) {
  stage_clock& c = all[p];
  const auto rounds = static_cast<std::uint32_t>(c.here.size());
  const bool forward = c.forwards < rounds && c.forwards - c.backwards < c.depth;
  if (!forward && c.backwards == rounds) return false;
  const std::uint32_t m = forward ? c.forwards : c.backwards;
  const double ready = forward ? c.here[m] : c.back[m];
  if (ready == never) return false;
  c.free_at = std::max(c.free_at, ready) + (forward ? c.forward : c.backward);
  if (forward) {
    ++c.forwards;
    if (p + 1 == all.size()) {
      c.back[m] = c.free_at;
    } else {
      c.down_at = std::max(c.down_at, c.free_at) + links[p];
      all[p + 1].here[m] = c.down_at;
    }
    return true;
  }
  ++c.backwards;
  if (p == 0) return true;
  all[p - 1].up_at = std::max(all[p - 1].up_at, c.free_at) + links[p - 1];
  all[p - 1].back[m] = all[p - 1].up_at;
  return true;
}

}  // namespace

std::vector<std::uint32_t> shares_for(const chain_setting& s,
                                      const std::vector<std::uint32_t>& devices) {
  double all = 0;
  for (const auto d : devices) all += s.speed[d];
  std::vector<std::uint32_t> shares;
  std::uint32_t given = 0;
  for (const auto d : devices) {
    shares.push_back(static_cast<std::uint32_t>(s.samples * s.speed[d] / all));
    given += shares.back();
  }
  for (; given < s.samples; ++given) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < devices.size(); ++i)
      if ((shares[i] + 1) / s.speed[devices[i]] < (shares[best] + 1) / s.speed[devices[best]])
        best = i;
    ++shares[best];
  }
  return shares;
}

chain_plan exact_hpp(const chain_setting& s, diligence how) { return hpp(s, how).best(); }

chain_plan equal_layers(const chain_setting& s) {
  const auto layers = static_cast<std::uint32_t>(s.forward.size());
  const auto stages = std::min(layers, static_cast<std::uint32_t>(s.speed.size()));
  chain_plan plan;
  for (std::uint32_t p = 0; p < stages; ++p) {
    const std::uint32_t first = layers * p / stages;
    plan.push_back({first, layers * (p + 1) / stages - first, {p}, {s.samples}});
  }
  return plan;
}

chain_plan data_parallel(const chain_setting& s) {
  chain_plan plan{{0,
                   static_cast<std::uint32_t>(s.forward.size()),
                   run(0, static_cast<std::uint32_t>(s.speed.size())),
                   {}}};
  plan[0].shares = shares_for(s, plan[0].devices);
  return plan;
}

chain_plan equal_groups(const chain_setting& s) {
  const auto devices = static_cast<std::uint32_t>(s.speed.size());
  const auto layers = static_cast<std::uint32_t>(s.forward.size());
  const std::vector<double> work = sums(s.forward);
  chain_plan best;
  double least = never;
  for (std::uint32_t g = 1; g <= std::min(devices, s.samples); ++g) {
    if (devices % g != 0 || devices / g > layers) continue;
    chain_plan plan;
    std::uint32_t first = 0;
    for (std::uint32_t p = 0; p < devices / g; ++p) {
      const std::uint32_t left = devices / g - p - 1;
      std::uint32_t end = first + 1;
      const double until = work.back() * (p + 1) / (devices / g);
      while (end + left < layers && (left == 0 || work[end] < until)) ++end;
      std::vector<std::uint32_t> shares(g, s.samples / g);
      for (std::uint32_t i = 0; i < s.samples % g; ++i) ++shares[i];
      plan.push_back({first, end - first, run(p * g, p * g + g), shares});
      first = end;
    }
    if (const double t = round_time(s, plan); t < least) {
      least = t;
      best = plan;
    }
  }
  return best;
}

chain_plan pipedream(const chain_setting& s) {
  const auto layers = static_cast<std::uint32_t>(s.forward.size());
  const auto devices = static_cast<std::uint32_t>(s.speed.size());
  const std::vector<double> f = sums(s.forward), b = sums(s.backward), w = sums(s.gradient);
  const double mean = std::accumulate(s.speed.begin(), s.speed.end(), 0.0) / devices;
  struct cell {
    double longest = never;
    std::uint32_t layers = 0;
    std::uint32_t devices = 0;
  };
  std::vector<cell> table(std::size_t{layers + 1} * (devices + 1));
  const auto at = [&](std::uint32_t j, std::uint32_t m) -> cell& {
    return table[std::size_t{j} * (devices + 1) + m];
  };
  const auto stage = [&](std::uint32_t i, std::uint32_t j, std::uint32_t m) {
    const double compute = (f[j] - f[i] + b[j] - b[i]) * s.samples / mean;
    return std::max(compute, 2.0 * (m - 1) * (w[j] - w[i]) / s.rounds) / m;
  };
  for (std::uint32_t m = 1; m <= devices; ++m)
    for (std::uint32_t j = 1; j <= layers; ++j) {
      at(j, m) = {stage(0, j, m), j, m};
      for (std::uint32_t i = 1; i < j; ++i)
        for (std::uint32_t k = 1; k < m; ++k) {
          const double link = 2 * s.boundary[i - 1] * s.samples;
          const double t = std::max({at(i, m - k).longest, link, stage(i, j, k)});
          if (t < at(j, m).longest) at(j, m) = {t, j - i, k};
        }
    }
  chain_plan plan;
  for (std::uint32_t j = layers, m = devices; j > 0;) {
    const cell c = at(j, m);
    plan.push_back({j - c.layers, c.layers, run(m - c.devices, m), {}});
    plan.back().shares.assign(c.devices, s.samples / c.devices);
    for (std::uint32_t i = 0; i < s.samples % c.devices; ++i) ++plan.back().shares[i];
    j -= c.layers;
    m -= c.devices;
  }
  std::reverse(plan.begin(), plan.end());
  return plan;
}

double round_time(const chain_setting& s, const chain_plan& p) {
  std::vector<stage_clock> all(p.size());
  std::vector<double> links;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double each = slowest(s, p[i]);
    all[i].forward = each * sum_of(s.forward, p[i]);
    all[i].backward = each * sum_of(s.backward, p[i]);
    // A communication step counts as a stage.
    all[i].depth =
        std::min<std::uint32_t>(static_cast<std::uint32_t>(2 * (p.size() - i)) - 1, s.rounds);
    all[i].here.assign(s.rounds, i == 0 ? 0 : never);
    all[i].back.assign(s.rounds, never);
    if (i + 1 < p.size()) links.push_back(crossing(s, p[i], p[i + 1]));
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < all.size(); ++i)
      while (advance(all, i, links)) moved = true;
  }
  double end = 0;
  for (std::size_t i = 0; i < all.size(); ++i) end = std::max(end, all[i].free_at + ring(s, p[i]));
  return end;
}

}  // namespace perigee::bench
