// A child process of ours: started, watched and always ended.
#pragma once

#include "proto/base/result.hpp"
#include "proto/base/units.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace perigee::actors {

/// Returns the path of the running program.
[[nodiscard]] std::string own_program();

/// Makes this process end when `parent` ends, however that ends. Returns false if it has ended
/// already. 0 = nobody: does nothing.
[[nodiscard]] bool end_with(pid_t parent);

class child {
public:
  /// Starts `arguments[0]` with its standard output and error going to the file `log`.
  static result<child> start(const std::vector<std::string>& arguments, const std::string& log);
  ~child();
  child(child&& other) noexcept;
  child& operator=(child&& other) noexcept;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] const std::string& log() const noexcept { return log_; }
  /// Returns the exit code if it has ended (128 + signal if one ended it).
  std::optional<int> ended();
  /// Waits for its end; nullopt if it has not ended in time.
  std::optional<int> wait(duration at_most);
  /// Asks it to end (SIGTERM), then, after a while, ends it (SIGKILL).
  void stop();

private:
  child(pid_t pid, std::string log) : pid_(pid), log_(std::move(log)) {}
  pid_t pid_ = -1;
  std::string log_;
  std::optional<int> code_;
};

}  // namespace perigee::actors
