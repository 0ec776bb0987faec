// The one-line forms of events and actions: traces, snapshots and log lines are made of them.

#include "planner/action.hpp"
#include "planner/event.hpp"

namespace perigee::planner {

namespace {

std::string number(std::uint64_t n) { return std::to_string(n); }

std::string reason(const error& why) {
  return std::string(perigee::text(why.code)) + ": " + why.what;
}

std::string of(job_id job) { return " of job " + perigee::text(job); }

std::string of(job_id job, std::uint64_t epoch) { return of(job) + " epoch " + number(epoch); }

std::string size_text(bytes size) { return " (" + number(size.count) + " B)"; }

struct event_teller {
  std::string operator()(const linked& e) const {
    return "linked " + text(e.who) + (e.client ? " as a client" : "");
  }
  std::string operator()(const unlinked& e) const {
    return "unlinked " + text(e.who) + ", " + reason(e.why);
  }
  std::string operator()(const heard& e) const { return "heard " + text(e.who); }
  std::string operator()(const received& e) const {
    return "received from " + text(e.from) + ' ' + text(e.what);
  }
  std::string operator()(const arrived& e) const {
    return "arrived from " + text(e.from) + ' ' + text(e.what) + of(e.job) + size_text(e.size);
  }
  std::string operator()(const transmitted& e) const {
    return "transmitted to " + text(e.to) + ' ' + text(e.what) + of(e.job) + size_text(e.size);
  }
  std::string operator()(const profiled& e) const {
    const std::string line = "profiled job " + text(e.job) + ", ";
    return e.what ? line + number(e.what->layers.size()) + " layers" : line + reason(e.what.why());
  }
  std::string operator()(const prepared& e) const {
    const std::string line = "prepared" + of(e.job, e.epoch);
    return e.how ? line : line + ", " + reason(e.how.why());
  }
  std::string operator()(const computed& e) const {
    return "computed lane " + number(e.lane) + ' ' + text(e.what) + of(e.job, e.epoch) + ", " +
           text(e.how);
  }
  std::string operator()(const calibrated& e) const {
    std::string line = "calibrated";
    for (const std::uint64_t rate : e.rate) line += ' ' + number(rate);
    return line + ", fingerprint " + number(e.fingerprint);
  }
  std::string operator()(const submitted& e) const { return "submitted " + text(message{e.what}); }
  std::string operator()(const due&) const { return "due"; }
};

struct action_teller {
  std::string operator()(const send& a) const { return "send " + text(a.to) + ' ' + text(a.what); }
  std::string operator()(const transmit& a) const {
    return "transmit " + text(a.to) + ' ' + text(a.what) + of(a.job) + size_text(a.size);
  }
  std::string operator()(const profile& a) const { return "profile " + text(message{a.what}); }
  std::string operator()(const prepare& a) const { return "prepare " + text(message{a.what}); }
  std::string operator()(const compute& a) const {
    return "compute lane " + number(a.lane) + ' ' + text(a.what) + of(a.job, a.epoch);
  }
  std::string operator()(const discard& a) const { return "discard executor" + of(a.job, a.epoch); }
  std::string operator()(const disconnect& a) const {
    return "disconnect " + text(a.who) + ", " + reason(a.why);
  }
  std::string operator()(const announce& a) const { return "announce " + text(message{a.what}); }
  std::string operator()(const note& a) const {
    constexpr const char* levels[] = {"note detail ", "note info ", "note warning "};
    return levels[static_cast<std::size_t>(a.how)] + a.line;
  }
  std::string operator()(const leave&) const { return "leave"; }
};

}  // namespace

std::string text(const event& e) { return std::visit(event_teller{}, e); }

std::string text(const action& a) { return std::visit(action_teller{}, a); }

}  // namespace perigee::planner
