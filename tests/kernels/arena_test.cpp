#include "kernels/arena.hpp"

#include "kernels/stage.hpp"
#include "tests/support/sequential_run.hpp"
#include "tests/support/small_models.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

// Counts what this program allocates; the sanitizers bring their own operator new.
#ifndef __SANITIZE_ADDRESS__
namespace {
std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> largest{0};

void* counted(std::size_t size) {
  ++allocations;
  if (size > largest) largest = size;
  void* p = std::malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
#endif

namespace perigee::test {

BOOST_AUTO_TEST_SUITE(arena)

BOOST_AUTO_TEST_CASE(blocks_are_zero_and_aligned) {
  auto a = kernels::arena::reserved({64 * 5});
  BOOST_TEST_REQUIRE(bool(a));
  const std::byte* first = a->take(1);
  const float* second = a->take_floats(33);
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(first) % 64 == 0U);
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(second) % 64 == 0U);
  BOOST_TEST(second[32] == 0.0F);
  BOOST_TEST(a->taken().count == 64U * 4);
}

BOOST_AUTO_TEST_CASE(a_moved_arena_keeps_its_blocks) {
  auto a = kernels::arena::reserved({4096});
  float* block = a->take_floats(4);
  block[3] = 7;
  const kernels::arena b = std::move(*a);
  BOOST_TEST(block[3] == 7.0F);
  BOOST_TEST(b.taken().count == 64U);
}

BOOST_AUTO_TEST_CASE(more_memory_than_there_is_is_refused) {
  const auto a = kernels::arena::reserved({std::uint64_t{1} << 62U});
  BOOST_TEST((a.why().code == errc::exhausted));
  BOOST_TEST(a.why().what.find("reserve ") == 0U);
}

#ifndef __SANITIZE_ADDRESS__
BOOST_AUTO_TEST_CASE(a_steady_step_allocates_nothing_of_a_tensors_size) {
  for (const small_job& job : {small_mlp(), small_resnet(), small_gpt()}) {
    const plan p = plan_of_one(job.spec, job.layers, 2);
    auto e = kernels::executor_for(job.spec, p, {1}, {job.data});
    BOOST_TEST_REQUIRE(bool(e));
    executor& one = **e;
    const auto pass = [&](std::uint64_t step) {
      const member& self = p.stages[0].group[0];
      for (std::uint32_t m = 0; m < micro_batch_count(job.spec); ++m) {
        const std::uint32_t slice = m / slice_size(job.spec);
        const slice_range first = slices_of_lane(self, 0);
        const std::uint32_t lane = slice < first.first + first.count ? 0 : 1;
        (void)one.run(lane, {task_kind::forward, step, m, {}});
        (void)one.run(lane, {task_kind::backward, step, m, {}});
      }
      for (std::uint32_t l = 0; l < job.layers; ++l)
        (void)one.run(0, {task_kind::fold, step, l, {}});
    };
    pass(0);
    std::vector<std::uint64_t> values;
    for (std::uint32_t l = 0; l < job.layers; ++l) {
      const outcome o = one.run(0, {task_kind::measure, 0, l, {}});
      values.insert(values.end(), o.values.begin(), o.values.end());
    }
    for (std::uint32_t l = 0; l < job.layers; ++l)
      (void)one.run(0, {task_kind::apply, 0, l, values});
    largest = 0;
    const std::size_t before = allocations;
    pass(1);
    const std::size_t count = allocations - before;
    BOOST_TEST_MESSAGE(count << " allocations, the largest of " << largest << " bytes");
    BOOST_TEST(largest < 4096U);  // oneDNN makes small lists when it runs a primitive
  }
}
#endif

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
