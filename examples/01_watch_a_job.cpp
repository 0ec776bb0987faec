// Trains a job in this program and watches it with an actor of our own.
//
//   01_watch_a_job JOB.toml
#include "actors/cli/load_job.hpp"
#include "actors/cli/view.hpp"
#include "actors/messages.hpp"
#include "actors/runtime.hpp"

#include <caf/all.hpp>
#include <fmt/core.h>

#include <future>

namespace {

namespace actors = perigee::actors;
using perigee::job_phase;
using perigee::progress;

/// Prints the loss of each step; keeps its promise when the job is over.
caf::behavior watcher(caf::event_based_actor* self, std::shared_ptr<std::promise<progress>> end) {
  return {[=](const progress& news) {
    if (!news.last.states.empty())
      fmt::print("step {} loss {:.4f}\n", news.step, actors::loss_of(news.last));
    if (news.phase != job_phase::finished && news.phase != job_phase::halted) return;
    end->set_value(news);
    self->quit();
  }};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: 01_watch_a_job JOB.toml\n");
    return 2;
  }
  const auto job = actors::load_job(argv[1]);
  if (!job) {
    fmt::print(stderr, "{}\n", job.why().what);
    return 2;
  }
  actors::runtime_config config;
  config.networked = false;  // a swarm of one; name members to have more
  config.self.peer.value = 1;
  config.self.workers = 2;
  config.self.memory_offer.count = std::uint64_t{1} << 30U;
  auto peer = actors::runtime::start(std::move(config));
  if (!peer) {
    fmt::print(stderr, "{}\n", peer.why().what);
    return 3;
  }
  const auto end = std::make_shared<std::promise<progress>>();
  (*peer)->watch((*peer)->system().spawn(watcher, end));
  (*peer)->submit(*job);
  const progress last = end->get_future().get();
  fmt::print("digest {}\n", text(actors::digest_of(last.last)));
  (*peer)->stop();
  return last.phase == job_phase::finished ? 0 : 1;
}
