// perigee testbed: a swarm of local processes trains a job, live, and is held against one process.
#include "actors/cli/testbed.hpp"

#include "actors/cli/collect.hpp"
#include "actors/cli/command.hpp"
#include "actors/cli/follow.hpp"
#include "actors/cli/job_check.hpp"
#include "actors/cli/load_job.hpp"
#include "actors/cli/memory_size.hpp"
#include "actors/cli/testbed_report.hpp"
#include "actors/cli/testbed_swarm.hpp"
#include "kernels/format/file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace perigee::actors {

namespace {

constexpr std::uint32_t demo_stages_max = 4;  // of the default job

/// A folder for the job, the peers file and the logs; kept if something went wrong.
class scratch_folder {
public:
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "perigee-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~scratch_folder() {
    std::error_code ignored;
    if (!kept_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  void keep() noexcept { kept_ = true; }

private:
  std::string path_;
  bool kept_ = false;
};

/// Flags override the job file's [plan].
void override_wishes(const testbed_options& o, wishes& wanted) {
  if (o.stages != 0) wanted.stages = o.stages;
  if (!o.replicas.empty()) wanted.replicas = o.replicas;
  if (!o.shares.empty()) wanted.shares = o.shares;
  if (!o.order.empty()) wanted.order.clear();
  for (const auto id : o.order) wanted.order.push_back({id});
  if (o.schedule == "gpipe") wanted.schedule = schedule_kind::gpipe;
  if (o.schedule == "1f1b") wanted.schedule = schedule_kind::one_f_one_b;
}

/// Returns the job before its data is read, as the flags change it.
result<job_file> asked_of(const testbed_options& o) {
  if (o.job.empty()) {
    if (auto text = kernels::input_file::open(o.text); !text)
      return error{errc::malformed, text.why().what + "; name another with --text FILE"};
  }
  auto parsed = o.job.empty() ? job_from(demo_job(o), {}) : read_job(o.job);
  if (!parsed) return parsed.why();
  override_wishes(o, parsed->wanted);
  if (const auto found = misfit_in(*parsed))
    return error{errc::malformed,
                 found->section == "plan" ? "--" + found->name + ": " + found->what : found->what};
  return parsed;
}

result<job_record> job_for(const testbed_options& o) {
  auto asked = asked_of(o);
  if (!asked) return asked.why();
  return job_of(std::move(*asked));
}

struct run {
  followed how;
  duration step{};
  kernels::tensor_file weights;
};

/// A peer that is killed once a step is done.
struct planned_kill {
  peer_id who;
  std::uint64_t step = 0;
};

/// Reads `3@40`: p3 after step 40. The first peer is the one through which the job is followed.
result<planned_kill> kill_of(const std::string& text, std::uint32_t peers) {
  planned_kill k;
  const char* const end = text.data() + text.size();
  const auto who = std::from_chars(text.data(), end, k.who.value);
  const bool divided = who.ec == std::errc{} && who.ptr != end && *who.ptr == '@';
  const auto step = std::from_chars(divided ? who.ptr + 1 : end, end, k.step);
  if (!divided || step.ec != std::errc{} || step.ptr != end)
    return error{errc::malformed, "--kill " + text + " is not PEER@STEP, e.g. 3@40"};
  if (k.who.value < 2 || k.who.value > peers)
    return error{errc::malformed, "--kill " + text + ": the peer must be one of 2 to " +
                                      std::to_string(peers) + "; the job is followed through 1"};
  return k;
}

result<std::vector<planned_kill>> kills_of(const testbed_options& o) {
  std::vector<planned_kill> all;
  for (const auto& one : o.kills) {
    auto k = kill_of(one, o.peers);
    if (!k) return k.why();
    all.push_back(*k);
  }
  return all;
}

/// Kills whom it is time to kill.
void kill_due(std::vector<planned_kill>& kills, const progress& news, testbed_swarm& swarm) {
  std::erase_if(kills, [&](const planned_kill& k) {
    if (news.phase != job_phase::running || news.step < k.step) return false;
    (void)swarm.kill(k.who);  // its id was checked
    return true;
  });
}

result<run> train(const testbed_options& o, const job_record& job, testbed_swarm& swarm,
                  const signals& stop) {
  view shown(o.json ? output::json : output::people, job.spec);
  auto kills = kills_of(o);
  if (!kills) return kills.why();
  bool ran = false;
  const auto look = [&](const progress& news) -> result<void> {
    kill_due(*kills, news, swarm);
    ran = ran || news.phase == job_phase::running;
    // Once it runs the others go on without a peer; before that they wait for it.
    return ran ? result<void>{} : swarm.check();
  };
  auto how = submit_and_follow(swarm.first(), job, shown, stop, look);
  if (!how) {
    if (auto alive = swarm.check(); !alive) return alive.why();
    return how.why();
  }
  run done{std::move(*how), shown.measured_step(), {}};
  if (done.how.detached) return done;
  if (done.how.last.phase == job_phase::halted) return done;
  auto weights = collect(swarm.first(), job, &stop.stop());
  if (!weights) return weights.why();
  done.weights = std::move(*weights);
  return done;
}

/// Whoever pressed Ctrl-C knows why it ends.
exit_code failed(const error& why, const signals& stop) {
  return stop.came() ? exit_code::interrupted : refused(why);
}

exit_code conclude(const testbed_options& o, const job_record& job, const run& done,
                   const verification& asked, const signals& stop) {
  testbed_report report;
  report.last = done.how.last;
  report.step = done.step;
  if (auto judged = judge(job.spec, done.weights, stop, report); !judged) {
    return failed(judged.why(), stop);
  }
  if (o.verify) {
    if (!o.json) fmt::print("verifying: the same job in one fresh process …\n");
    std::fflush(stdout);
    if (auto verified = verify(asked, stop, report); !verified) {
      return stop.came() ? exit_code::interrupted : refused(verified.why(), exit_code::failed);
    }
  }
  if (!o.out.empty()) {
    if (auto written = kernels::write_safetensors(o.out, done.weights); !written) {
      return refused(written.why());
    }
  }
  print(report, o.json ? output::json : output::people);
  return report.holds(o.verify) ? exit_code::fine : exit_code::failed;
}

exit_code run_testbed(const testbed_options& o) {
  if (auto kills = kills_of(o); !kills) return refused(kills.why(), exit_code::usage);
  if (!o.out.empty()) {
    if (auto possible = kernels::check_target(o.out); !possible) return refused(possible.why());
  }
  // Until here Ctrl-C ends the process: reading may take long, and there is nothing to clear away.
  auto job = job_for(o);
  if (!job) return refused(job.why(), exit_code::usage);
  signals stop;
  scratch_folder folder;
  const auto default_job = folder.path() + "/job.toml";
  if (o.job.empty()) std::ofstream(default_job) << demo_job(o);
  auto swarm = testbed_swarm::start(
      {o.peers, o.workers, {o.memory_bytes}, job->spec.isa, folder.path()}, stop);
  if (!swarm) return failed(swarm.why(), stop);
  if (!o.json) {
    fmt::print("{} peers, each a process with {} worker{}; job {}\n", o.peers, o.workers,
               o.workers == 1 ? "" : "s", text(job->job));
  }
  auto done = train(o, *job, *swarm, stop);
  swarm->stop();
  const bool halted = done && done->how.last.phase == job_phase::halted;
  if (!done && stop.came()) return exit_code::interrupted;
  if (!done || halted) {
    folder.keep();
    const auto code = halted ? refused(done->how.last.why, exit_for_halt(done->how.last.why.code))
                             : refused(done.why());
    fmt::print(stderr, "the peers' logs are in {}\n", folder.path());
    return code;
  }
  if (done->how.detached) return exit_code::interrupted;
  return conclude(o, *job, *done,
                  {o.job.empty() ? default_job : o.job, folder.path(), o.verify_workers}, stop);
}

}  // namespace

std::string demo_job(const testbed_options& o) {
  // As TOML quotes it: any letter may stand in a path.
  std::ostringstream path;
  path << toml::table{{"path", std::filesystem::absolute(o.text).string()}};
  return fmt::format(
      "# A character-level transformer, small enough for two cores and a minute.\n"
      "name = \"first light\"\n"
      "seed = 1\n"
      "steps = {}\n"
      "mini_batch = 16\n"
      "micro_batch = 2\n\n"
      "[model]\nkind = \"gpt\"\nblocks = 4\nwidth = 128\nheads = 4\ncontext = 64\n\n"
      "[data]\nkind = \"text\"\n{}\nvalidation = 0.1\n\n"
      "[optimizer]\nkind = \"adamw\"\nlearning_rate = 0.002\nbeta2 = 0.99\nweight_decay = 0.1\n\n"
      "[rate]\nkind = \"cosine\"\nwarmup_steps = 20\nfloor = 0.1\n\n"
      "[plan]\nstages = {}\n",
      o.steps, path.str(), std::min(o.peers, demo_stages_max));
}

void add_testbed(CLI::App& app, chosen& run) {
  auto o = std::make_shared<testbed_options>();
  auto* c = app.add_subcommand(
      "testbed", "starts local peers as processes, trains, shows it live and reports");
  c->footer(
      "Examples: perigee testbed\n"
      "          perigee testbed --peers 3 --job job.toml --stages 3 --workers 2");
  c->add_option("--peers", o->peers, "peer processes to start")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  auto* job =
      c->add_option("--job", o->job, "job file; default: a character-level transformer on --text");
  c->add_option("--text", o->text, "text that the default job learns")
      ->capture_default_str()
      ->excludes(job);
  c->add_option("--steps", o->steps, "steps of the default job")
      ->capture_default_str()
      ->excludes(job)
      ->check(CLI::Range(1, 1000000));
  c->add_option("--stages", o->stages,
                "stages of the plan; default: what the job asks for, else the planner's choice")
      ->check(CLI::Range(1, 64));
  c->add_option("--replicas", o->replicas, "replicas of each stage: one number, or one a stage")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  c->add_option("--shares", o->shares, "slices of each member, stage by stage, e.g. 3,1")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  c->add_option("--order", o->order,
                "ids of peers in the order in which stages take them, e.g. 3,1,2")
      ->delimiter(',');
  c->add_option("--schedule", o->schedule, "gpipe or 1f1b")
      ->check(CLI::IsMember({"gpipe", "1f1b"}));
  c->add_option("--workers", o->workers, "threads of each peer that compute")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  c->add_option("--memory", o->memory_bytes, "memory each peer offers, e.g. 64MiB; default 4GiB")
      ->transform(memory_size());
  c->add_option("--kill", o->kills,
                "PEER@STEP, e.g. 3@40: ends that peer's process (SIGKILL) when the step is done; "
                "the others begin again without it")
      ->delimiter(',');
  c->add_flag("--verify,!--no-verify", o->verify,
              "train once more in one fresh process and compare the digests");
  c->add_option("--verify-workers", o->verify_workers, "threads of that process")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  c->add_option("--out", o->out, "write the trained weights to this safetensors file");
  c->add_flag("--json", o->json, "one JSON object a line");
  c->callback([o, &run] { run = [o] { return run_testbed(*o); }; });
}

}  // namespace perigee::actors
