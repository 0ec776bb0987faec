// Between links and the peer: what is let in, and how much of it may wait.
#include "actors/carrier.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

namespace {

using namespace perigee;
using actors::carrier;

constexpr peer_id p1{1};
constexpr peer_id p2{2};
constexpr peer_id p3{3};
constexpr job_id job{{7, 9}};

/// An executor of four bytes that expects one tensor.
class small_executor final : public executor {
public:
  outcome run(std::uint32_t, const task&) override { return {}; }
  std::span<const std::byte> hold(const tensor_ref&) override { return {}; }
  void release(const tensor_ref&) override {}
  std::span<std::byte> room(const tensor_ref&) override {
    return here ? std::span<std::byte>{} : std::span(data);
  }
  void arrived(const tensor_ref&) override { here = true; }

  std::array<std::byte, 4> data{};
  bool here = false;
};

class recording_links final : public net::transport {
public:
  result<void> send(peer_id, const message& what) override {
    sent.push_back(what);
    return {};
  }
  result<void> transmit(peer_id, const net::tensor_label&, std::span<const std::byte>) override {
    return {};
  }
  void close(peer_id) override {}
  net::link_figures figures(peer_id) const override { return {}; }
  std::uint64_t dropped() const override { return 0; }
  std::vector<message> sent;
};

/// p2, which has the second of two stages; p1 has the first.
struct second_of_two {
  actors::shelf executors;
  std::shared_ptr<small_executor> runs = std::make_shared<small_executor>();
  recording_links links;
  std::vector<std::string> lines;
  std::mutex lock;
  std::condition_variable came;
  std::vector<carrier::ticket> tickets;
  carrier owner{executors,
                [this](const planner::event& what, carrier::ticket until_handled) {
                  if (!std::holds_alternative<planner::received>(what)) return;
                  const std::lock_guard guard(lock);
                  tickets.push_back(std::move(until_handled));
                  came.notify_all();
                },
                [this](const planner::note& what) { lines.push_back(what.line); }};
  net::tensor_label label;

  second_of_two() {
    planner::stage_place where;
    where.whole.job = job;
    where.whole.stages = {{0, 1, 1, {{p1, 0, 1, 1}}}, {1, 1, 1, {{p2, 0, 1, 1}}}};
    where.where = {1, 0};
    where.model.layers.resize(2);
    where.model.micro_batch_count = where.model.slice_size = where.model.slice_count = 1;
    label = {job, digest_of(where.whole), {tensor_kind::activation, 0, 1, 0}, {4}};
    executors.put(where, runs);
    owner.use(links);
    owner.on_linked(p1, net::link_role::peer);
    owner.on_linked(p3, net::link_role::peer);
  }
  bool wait_for(std::size_t count) {
    std::unique_lock guard(lock);
    return came.wait_for(guard, std::chrono::minutes(1), [&] { return tickets.size() == count; });
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(carrier)

BOOST_AUTO_TEST_CASE(a_tensor_of_another_size_has_no_room_and_is_named) {
  second_of_two peer;
  auto label = peer.label;
  label.size = {5};
  BOOST_TEST(peer.owner.room_for(p1, label).empty());
  BOOST_TEST(peer.lines.size() == 1U);
  BOOST_TEST(peer.lines[0] == "dropped from p1: activation 0@1 of step 0, 5 bytes: the plan has 4");
  BOOST_TEST(peer.owner.room_for(p1, peer.label).data() == peer.runs->data.data());
}

BOOST_AUTO_TEST_CASE(a_tensor_of_another_sender_has_no_room_and_is_named) {
  second_of_two peer;
  BOOST_TEST(peer.owner.room_for(p3, peer.label).empty());
  BOOST_TEST(peer.lines.size() == 1U);
  BOOST_TEST(peer.lines[0] ==
             "dropped from p3: activation 0@1 of step 0, 4 bytes: the plan has it come from p1");
}

BOOST_AUTO_TEST_CASE(a_tensor_of_a_client_has_no_room) {
  second_of_two peer;
  peer.owner.on_linked(p1, net::link_role::client);
  BOOST_TEST(peer.owner.room_for(p1, peer.label).empty());
  BOOST_TEST(peer.lines[0].ends_with(": clients give no tensors"));
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_here_has_no_room_again) {
  second_of_two peer;
  BOOST_REQUIRE(!peer.owner.room_for(p1, peer.label).empty());
  peer.owner.on_arrived(p1, peer.label);
  BOOST_TEST(peer.runs->here);
  BOOST_TEST(peer.owner.room_for(p1, peer.label).empty());
  BOOST_TEST(peer.lines[0].ends_with(": it is not expected now"));
}

BOOST_AUTO_TEST_CASE(a_link_that_only_gives_nonsense_does_not_fill_the_log) {
  second_of_two peer;
  for (std::size_t i = 0; i < 100; ++i) (void)peer.owner.room_for(p3, peer.label);
  BOOST_TEST(peer.lines.size() == actors::carrier::complaints_max);
}

BOOST_AUTO_TEST_CASE(messages_beyond_the_bound_wait_until_others_are_handled) {
  second_of_two peer;
  constexpr auto most = actors::carrier::messages_max;
  std::jthread reader([&] {
    for (std::size_t i = 0; i < most + 1; ++i) peer.owner.on_message(p1, ping{i});
  });
  BOOST_REQUIRE(peer.wait_for(most));
  peer.owner.on_message(p3, ping{});  // another link is not held up
  BOOST_TEST(peer.wait_for(most + 1));
  {
    const std::lock_guard guard(peer.lock);
    peer.tickets[0].reset();
  }
  BOOST_TEST(peer.wait_for(most + 2));
}

BOOST_AUTO_TEST_CASE(a_report_beyond_a_frame_is_cut_and_says_so) {
  second_of_two peer;
  status_report large;
  large.neighbours.resize(4000);
  BOOST_REQUIRE(peer.owner.send(p3, large));
  BOOST_REQUIRE(peer.links.sent.size() == 2U);
  BOOST_TEST(std::get<remark>(peer.links.sent[0]).line.ends_with(" of 4000 peers"));
  BOOST_TEST(!std::get<status_report>(peer.links.sent[1]).neighbours.empty());
}

BOOST_AUTO_TEST_SUITE_END()
