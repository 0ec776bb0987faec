// Asking a peer what it knows.
#pragma once

#include "net/tcp/client.hpp"
#include "proto/message.hpp"

#include <string>

namespace perigee::actors {

struct status_answer {
  status_report report;
  std::string omitted;  // what the peer left out, if it knows more than fits an answer
};

result<status_answer> ask_status(net::client& peer, net::real_time deadline);

}  // namespace perigee::actors
