#include "proto/message.hpp"

#include <boost/test/unit_test.hpp>

#include <bit>
#include <set>

namespace perigee::tests {

namespace {

using namespace std::chrono_literals;

constexpr job_id job{{0x0123456789abcdefU, 1}};

const error why{errc::io, "disk is full"};

}  // namespace

BOOST_AUTO_TEST_SUITE(text)

BOOST_AUTO_TEST_CASE(small_peer_ids_are_counted_and_large_ones_are_hexadecimal) {
  BOOST_TEST(perigee::text(peer_id{7}) == "p7");
  BOOST_TEST(perigee::text(peer_id{999'999}) == "p999999");
  BOOST_TEST(perigee::text(peer_id{1'000'000}) == "p00000000000f4240");
  BOOST_TEST(perigee::text(peer_id{~0ULL}) == "pffffffffffffffff");
}

BOOST_AUTO_TEST_CASE(a_digest_has_all_its_digits_and_a_job_twelve) {
  BOOST_TEST(perigee::text(job.value) == "0123456789abcdef0000000000000001");
  BOOST_TEST(perigee::text(job) == "0123456789ab");
}

BOOST_AUTO_TEST_CASE(bytes_print_in_binary_units) {
  BOOST_TEST(perigee::text(bytes{0}) == "0 B");
  BOOST_TEST(perigee::text(bytes{512}) == "512 B");
  BOOST_TEST(perigee::text(bytes{1023}) == "1023 B");
  BOOST_TEST(perigee::text(bytes{1024}) == "1.0 KiB");
  BOOST_TEST(perigee::text(bytes{1536 * 1024}) == "1.5 MiB");
  BOOST_TEST(perigee::text(bytes{1024 * 1024 - 1}) == "1.0 MiB");  // not 1024.0 KiB
  BOOST_TEST(perigee::text(bytes{1024 * 1024 - 100}) == "1023.9 KiB");
  BOOST_TEST(perigee::text(bytes{~0ULL}) == "16.0 EiB");
}

BOOST_AUTO_TEST_CASE(durations_print_in_the_unit_that_fits) {
  BOOST_TEST(perigee::text(duration{0}) == "0 ns");
  BOOST_TEST(perigee::text(duration{850ns}) == "850 ns");
  BOOST_TEST(perigee::text(duration{1234us}) == "1.2 ms");
  BOOST_TEST(perigee::text(duration{999'960ns}) == "1.0 ms");
  BOOST_TEST(perigee::text(duration{999'940ns}) == "999.9 us");
  BOOST_TEST(perigee::text(duration{3400ms}) == "3.4 s");
  BOOST_TEST(perigee::text(duration{2h}) == "7200.0 s");
  BOOST_TEST(perigee::text(duration{-1500us}) == "-1.5 ms");
  BOOST_TEST(perigee::text(duration::min()) == "-9223372036.9 s");
}

BOOST_AUTO_TEST_CASE(tensors_print_as_their_names) {
  BOOST_TEST(perigee::text(tensor_ref{tensor_kind::activation, 17, 2, 3}) ==
             "activation 3@2 of step 17");
  BOOST_TEST(perigee::text(tensor_ref{tensor_kind::activation_gradient, 17, 2, 3}) ==
             "activation gradient 3@2 of step 17");
  BOOST_TEST(perigee::text(tensor_ref{tensor_kind::gradient, 17, 5, 2}) ==
             "gradient 5[0,2) of step 17");
  BOOST_TEST(perigee::text(tensor_ref{tensor_kind::state, 17, 5, 0}) == "state 5 after 17 steps");
}

BOOST_AUTO_TEST_CASE(tasks_print_as_what_they_do) {
  BOOST_TEST(perigee::text(task{task_kind::forward, 17, 3, {}}) == "forward 3 of step 17");
  BOOST_TEST(perigee::text(task{task_kind::backward, 17, 3, {}}) == "backward 3 of step 17");
  BOOST_TEST(perigee::text(task{task_kind::fold, 17, 3, {}}) == "fold 3 of step 17");
  BOOST_TEST(perigee::text(task{task_kind::measure, 17, 3, {}}) == "measure 3 of step 17");
  BOOST_TEST(perigee::text(task{task_kind::apply, 17, 3, {1}}) == "apply 3 of step 17");
}

BOOST_AUTO_TEST_CASE(outcomes_print_what_came_of_a_task) {
  outcome o;
  o.elapsed = 2ms;
  BOOST_TEST(perigee::text(o) == "done, 2.0 ms");
  o.values = {1, 2};
  o.loss_bits = std::bit_cast<std::uint64_t>(2.5);
  o.counted = 8;
  BOOST_TEST(perigee::text(o) == "done, 2 values, loss 2.5 over 8, 2.0 ms");
  BOOST_TEST(perigee::text(outcome{false, {3, 4}, {}, 0, 0, {}}) ==
             "not finite at layer 3, micro-batch 4, 0 ns");
}

BOOST_AUTO_TEST_CASE(messages_among_peers_print_on_one_line) {
  peer_record self;
  self.peer = {1};
  self.incarnation = 9;
  self.version = 2;
  self.name = "one";
  self.address = "127.0.0.1:7000";
  BOOST_TEST(perigee::text(message{self}) == "peer record p1 'one' at 127.0.0.1:7000, version 9.2");
  BOOST_TEST(perigee::text(message{ping{3}}) == "ping 3");
  BOOST_TEST(perigee::text(message{pong{3}}) == "pong 3");
  BOOST_TEST(perigee::text(message{acceptance{job, 2, 0xab}}) ==
             "acceptance of job 0123456789ab epoch 2, plan 00000000000000ab");
  BOOST_TEST(perigee::text(message{refusal{job, 2, 0xab, why, {}, {}}}) ==
             "refusal of job 0123456789ab epoch 2, io: disk is full");
  BOOST_TEST(perigee::text(message{halt{job, 2, 1, why}}) ==
             "halt after 1 step of job 0123456789ab epoch 2, io: disk is full");
  BOOST_TEST(perigee::text(message{state_report{job, 2, 5, 3, {{}, {}}}}) ==
             "state report of layers [3,5) after 5 steps of job 0123456789ab epoch 2");
}

BOOST_AUTO_TEST_CASE(plans_under_way_print_with_their_digest) {
  proposal p{{job, 2, schedule_kind::gpipe, {}, {}}, 5};
  const std::string tail = " of job 0123456789ab epoch 2 from step 5, plan 98f6600c057f30e3";
  BOOST_TEST(perigee::text(message{p}) == "proposal" + tail);
  BOOST_TEST(perigee::text(message{commitment{p}}) == "commitment" + tail);
}

BOOST_AUTO_TEST_CASE(a_measurement_prints_where_it_is_not_finite) {
  measurement m;
  m.job = job;
  m.epoch = 2;
  m.step = 5;
  m.stage = 1;
  BOOST_TEST(perigee::text(message{m}) ==
             "measurement of stage 1 of step 5 of job 0123456789ab epoch 2");
  m.finite = false;
  m.where = {3, 4};
  BOOST_TEST(perigee::text(message{m}) ==
             "measurement of stage 1 of step 5 of job 0123456789ab epoch 2, "
             "not finite at layer 3, micro-batch 4");
}

BOOST_AUTO_TEST_CASE(progress_prints_phase_loss_and_reason) {
  progress p;
  p.job = job;
  p.steps = 10;
  BOOST_TEST(perigee::text(message{p}) == "progress of job 0123456789ab, waiting, step 0/10");
  p.phase = job_phase::halted;
  p.step = 4;
  p.last.step = 4;
  p.last.loss_bits = std::bit_cast<std::uint64_t>(1.25);
  p.why = why;
  BOOST_TEST(perigee::text(message{p}) ==
             "progress of job 0123456789ab, halted, step 4/10, loss 1.25, io: disk is full");
}

BOOST_AUTO_TEST_CASE(messages_of_clients_print_on_one_line) {
  job_record j;
  j.job = job;
  j.wanted.name = "demo";
  BOOST_TEST(perigee::text(message{j}) == "job 0123456789ab 'demo'");
  BOOST_TEST(perigee::text(message{submission{j}}) == "submission of job 0123456789ab 'demo'");
  BOOST_TEST(perigee::text(message{receipt{job, true, {}}}) ==
             "receipt of job 0123456789ab, accepted");
  BOOST_TEST(perigee::text(message{receipt{job, false, why}}) ==
             "receipt of job 0123456789ab, io: disk is full");
  BOOST_TEST(perigee::text(message{subscription{job}}) == "subscription to job 0123456789ab");
  account a;
  a.job = job;
  a.work.peer = {3};
  a.work.micro_batches = 12;
  BOOST_TEST(perigee::text(message{a}) == "account of p3 for job 0123456789ab, 12 micro-batches");
  BOOST_TEST(perigee::text(message{remark{job, "we wait"}}) ==
             "remark on job 0123456789ab, we wait");
  BOOST_TEST(perigee::text(message{status_request{}}) == "status request");
  status_report report;
  report.self.peer = {1};
  report.neighbours.resize(2);
  BOOST_TEST(perigee::text(message{report}) == "status report of p1, 2 neighbours, 0 jobs");
  BOOST_TEST(perigee::text(message{state_request{job, 4}}) ==
             "state request for layer 4 of job 0123456789ab");
  BOOST_TEST(perigee::text(message{missing{job, 4, why}}) ==
             "missing state of layer 4 of job 0123456789ab, io: disk is full");
  BOOST_TEST(perigee::text(message{farewell{}}) == "farewell");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::tests
