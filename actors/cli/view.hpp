// What a person, or a program, sees of a running job: progress bar and plan lines, or one JSON
// object a line.
#pragma once

#include "proto/message.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace perigee::actors {

enum class output : std::uint8_t { people, json };

class view {
public:
  view(output how, const specification& spec);

  void show(const progress& news);
  void show(const remark& news);
  /// Ends the line of the progress bar.
  void close();

  /// Returns the mean time of a step since the first one was seen; zero before two were.
  [[nodiscard]] duration measured_step() const;

private:
  void show_plan(const progress& news);
  void show_step(const progress& news);
  [[nodiscard]] std::string bar(const progress& news) const;

  output how_;
  bool terminal_ = false;
  bool bar_open_ = false;
  std::uint32_t mini_batch_ = 0;
  std::uint64_t epoch_shown_ = 0;
  job_phase phase_shown_ = job_phase::waiting;
  std::uint64_t step_shown_ = 0;
  std::uint64_t first_step_ = 0;
  std::chrono::steady_clock::time_point first_time_;
  std::chrono::steady_clock::time_point last_time_;
  std::chrono::steady_clock::time_point drawn_;
};

/// Returns the loss that a commit record carries.
[[nodiscard]] double loss_of(const commit_record& record);

/// Returns that loss for people.
[[nodiscard]] std::string loss_text(const commit_record& record);

/// Returns the digest of the whole model's state after the record's step.
[[nodiscard]] digest128 digest_of(const commit_record& record);

/// Returns the plan for people: a heading, then one line a stage.
[[nodiscard]] std::string plan_lines(const plan& p);

/// Returns the table of what each peer did, one line a peer under a heading.
[[nodiscard]] std::string work_table(const std::vector<peer_work>& work);

}  // namespace perigee::actors
