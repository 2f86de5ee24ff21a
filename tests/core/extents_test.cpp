#include "core/extents.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/operator.hpp"

namespace gla_bench {
namespace {

TEST(Extents, HaveNamesSymbolsAndMembersOfTheirOwn) {
  std::set<std::string_view> names, symbols;
  for (const ExtentAxis& axis : extent_axes) {
    names.insert(axis.name);
    symbols.insert(axis.symbol);
    EXPECT_EQ(&extent_axis(axis.name), &axis);
    EXPECT_FALSE(axis.meaning.empty()) << axis.name;
    EXPECT_LE(axis.usual, axis.most) << axis.name;
    Shape shape;
    shape.*axis.extent = 77;
    for (const ExtentAxis& other : extent_axes)
      EXPECT_EQ(shape.*other.extent == 77, &other == &axis) << axis.name << " " << other.name;
  }
  EXPECT_EQ(names.size(), extent_axes.size());
  EXPECT_EQ(symbols.size(), extent_axes.size());
  EXPECT_EQ(sizeof(Shape), extent_axes.size() * sizeof(std::int64_t));
  EXPECT_THROW(extent_axis("rows"), std::out_of_range);
}

TEST(Extents, OfEveryOperatorAreInTheTable) {
  for (const Operator& op : operators()) {
    for (const std::string& name : op.extents) EXPECT_GT(extent_axis(name).usual, 0) << name;
    for (const std::string& name : op.optional_extents)
      EXPECT_EQ(extent_axis(name).stated, Stated::where_given) << name;
  }
}

TEST(Extents, AreStatedByTheShapesThatHaveThem) {
  Shape shape{2, 70, 4, 32, 64};
  EXPECT_EQ(extents_text(shape, " ", "="), " B=2 T=70 H=4 K=32 V=64");
  shape.key_heads = 2;
  shape.model_dim = 96;
  shape.sequences = 3;
  EXPECT_EQ(extents_text(shape, "/", ":"), "/B:2/T:70/H:4/K:32/V:64/Hk:2/d:96/N:3");
  Shape rows;
  rows.batch = 5;
  rows.columns = 1000;
  EXPECT_EQ(extents_text(rows, " ", "="), " B=5 columns=1000");
}

}  // namespace
}  // namespace gla_bench
