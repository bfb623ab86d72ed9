"""Texts that the scenarios' prompts are cut from, written for Minibatch: openings and paragraphs."""

OPENINGS = (
    "Once upon a time there was a little mouse who",
    "The old king had three sons, and the youngest",
    "In the middle of the forest stood a house where",
    '"Where are you going?" said the fox to the',
    "One morning the girl opened the window and saw",
    "There was once a poor miller who had nothing but",
    "The horse looked at the boy and said",
    "Far away, behind the blue hills, lived a witch who",
    "When the snow began to fall, the children",
    "The rabbit ran down the path as fast as",
    "A raven sat on the tall tree and watched",
    '"I am not afraid of the dark," said the princess,',
)
"""How short prompts begin."""

PARAGRAPHS = (
    "The mill stood at the bend of the river, where the water ran quick and cold over the stones. Every "
    "morning the miller's daughter carried the flour to the village, and every evening she came home with "
    "an empty cart and a pocket full of news.",
    "One day she met an old man on the bridge. He had a grey coat and a stick of hazel wood, and he asked "
    "her for a piece of bread. She gave him half of what she had, for she had been taught to share, and he "
    "thanked her and went on his way without a word.",
    "That night the wind came down from the hills and shook the shutters, and the cat would not leave the "
    "hearth. The girl lay awake and listened. It seemed to her that somebody was walking round the house, "
    "slowly, and counting the windows.",
    "In the morning there were footprints in the frost, very small, and beside the door lay a key made of "
    "silver. Her father shook his head and said that it was best to leave such things alone, but the girl "
    "put the key into her apron and said nothing.",
    "Now in the forest behind the mill there was a door that stood in the side of a hill. Everybody knew "
    "of it, and nobody had ever seen it open. The children threw stones at it in summer, and in winter "
    "they kept away, because the snow never lay there.",
    "The girl went to the door and tried the key, and it turned as if it had been oiled the day before. "
    "Behind the door was a long passage with a lamp at the end of it, and beside the lamp sat a toad with "
    "spectacles, who was reading a great book.",
    '"You are late," said the toad. "We have been waiting for a hundred years, and the soup is cold. Sit '
    'down, and tell me what you have brought." The girl answered that she had brought nothing but herself '
    "and half a loaf of bread, and the toad was very glad.",
    "So they ate the bread together, and the toad told her of the king under the hill, who had lost his "
    "name and could not sleep without it. Whoever found the name might ask for one wish, and whoever "
    "looked for it and failed must stay and polish the spoons.",
)
"""What long prompts are made of; they follow one another as a story."""
