#include "actors/cli/follow.hpp"

#include "actors/messages.hpp"

#include <caf/all.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>

namespace perigee::actors {

namespace {

using namespace std::chrono_literals;

constexpr duration answer_patience = 60s;  // a submission is answered when the data has been read
constexpr duration look_period = 100ms;    // between two looks for Ctrl-C

bool over(const progress& news) {
  return news.phase == job_phase::finished || news.phase == job_phase::halted;
}

/// Progress messages from an actor to the thread that shows them.
class mailbox {
public:
  void put(progress news) {
    const std::lock_guard guard(lock_);
    queue_.push_back(std::move(news));
    came_.notify_one();
  }
  std::optional<progress> take(duration at_most) {
    std::unique_lock guard(lock_);
    if (!came_.wait_for(guard, at_most, [this] { return !queue_.empty(); })) return std::nullopt;
    progress first = std::move(queue_.front());
    queue_.pop_front();
    return first;
  }

private:
  std::mutex lock_;
  std::condition_variable came_;
  std::deque<progress> queue_;
};

result<void> submit(net::client& peer, const job_record& what) {
  auto answer = peer.ask(submission{what}, net::deadline_in(answer_patience));
  if (!answer) return answer.why();
  const auto* told = std::get_if<receipt>(&*answer);
  if (told == nullptr)
    return error{errc::malformed, "the peer answered a submission with something else"};
  if (!told->accepted) return told->why;
  return peer.tell(subscription{what.job}, net::deadline_in(answer_patience));
}

void take(message& news, job_id job, view& shown, followed& f) {
  if (const auto* r = std::get_if<remark>(&news)) shown.show(*r);
  if (auto* p = std::get_if<progress>(&news); p != nullptr && p->job == job) {
    shown.show(*p);
    f.last = std::move(*p);
  }
}

}  // namespace

result<followed> submit_and_follow(net::client& peer, const job_record& what, view& shown,
                                   const signals& stop, const watch& look) {
  followed f;
  if (auto done = submit(peer, what); !done) {
    f.detached = stop.came();
    if (!f.detached) return done.why();
    return f;
  }
  while (!over(f.last)) {
    if (stop.came()) {
      f.detached = true;
      break;
    }
    auto news = peer.next(net::deadline_in(look_period));
    if (!news && !stop.came() && news.why().code != errc::timed_out) {
      shown.close();
      return news.why();
    }
    if (news) take(*news, what.job, shown, f);
    if (!look) continue;
    if (auto goes_on = look(f.last); !goes_on) {
      shown.close();
      return goes_on.why();
    }
  }
  shown.close();
  return f;
}

result<followed> submit_and_follow(runtime& peer, const job_record& what, view& shown,
                                   const signals& stop) {
  const auto box = std::make_shared<mailbox>();
  const auto watcher = peer.system().spawn([box](caf::event_based_actor*) -> caf::behavior {
    return {[box](progress& news) { box->put(std::move(news)); }};
  });
  peer.watch(watcher);
  peer.submit(what);
  followed f;
  while (!over(f.last) && !f.detached) {
    f.detached = stop.came();
    auto news = box->take(look_period);
    if (!news || news->job != what.job) continue;
    shown.show(*news);
    f.last = std::move(*news);
  }
  caf::anon_send_exit(watcher, caf::exit_reason::user_shutdown);
  shown.close();
  return f;
}

}  // namespace perigee::actors
