#include "actors/cli/ask_status.hpp"

#include <utility>

namespace perigee::actors {

result<status_answer> ask_status(net::client& peer, net::real_time deadline) {
  status_answer made;
  auto answer = peer.ask(status_request{}, deadline);
  if (answer && std::holds_alternative<remark>(*answer)) {
    made.omitted = std::get<remark>(*answer).line;
    answer = peer.next(deadline);
  }
  if (!answer) return answer.why();
  auto* report = std::get_if<status_report>(&*answer);
  if (report == nullptr) {
    return error{errc::malformed, "the peer answered a status request with something else"};
  }
  made.report = std::move(*report);
  return made;
}

}  // namespace perigee::actors
