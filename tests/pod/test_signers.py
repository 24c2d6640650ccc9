"""Keys: SEP-5 derivation, and who signs for whom."""

import pytest
from stellar_sdk import Keypair
from stellar_sdk.sep.mnemonic import StellarMnemonic

from notifier.signers import InvalidKey, KeyMissing, LocalKeyring
from notifier.signers.derivation import AccountKeys, InvalidSeed, read_seed

# SEP-5, test 1 and test 3 (12 and 24 words), and test 5's BIP-39 seed given in hex.
VECTORS = [
    (
        "illness spike retreat truth genius clock brain pass fit cave bargain toe",
        {
            0: "GDRXE2BQUC3AZNPVFSCEZ76NJ3WWL25FYFK6RGZGIEKWE4SOOHSUJUJ6",
            1: "GBAW5XGWORWVFE2XTJYDTLDHXTY2Q2MO73HYCGB3XMFMQ562Q2W2GJQX",
            2: "GAY5PRAHJ2HIYBYCLZXTHID6SPVELOOYH2LBPH3LD4RUMXUW3DOYTLXW",
            9: "GBTVYYDIYWGUQUTKX6ZMLGSZGMTESJYJKJWAATGZGITA25ZB6T5REF44",
        },
    ),
]
SEED_HEX = (
    "e4a5a632e70943ae7f07659df1332160937fad82587216a4c64315a0fb39497e"
    "e4a01f76ddab4cba68147977f3a147b6ad584c41808e8238a07f6cc4b582f186"
)


@pytest.mark.parametrize(("mnemonic", "addresses"), VECTORS)
def test_sep_5_vectors(mnemonic: str, addresses: dict[int, str]) -> None:
    keys = AccountKeys(read_seed(mnemonic))
    for index, address in addresses.items():
        assert Keypair.from_raw_ed25519_seed(keys.raw_seed(index)).public_key == address


def test_a_seed_in_hex_derives_the_same_keys_as_its_mnemonic() -> None:
    words = VECTORS[0][0]
    assert read_seed(SEED_HEX) == StellarMnemonic("english").to_bip39_seed(words)
    assert AccountKeys(read_seed(SEED_HEX)).raw_seed(7) == AccountKeys(read_seed(words)).raw_seed(7)


@pytest.mark.parametrize("index", [0, 1, 5, 1000, 2**31 - 1])
def test_derivation_equals_the_sdk(index: int) -> None:
    seed = bytes(range(64))
    assert AccountKeys(seed).raw_seed(index) == StellarMnemonic.derive(seed, index)


@pytest.mark.parametrize("text", ["", "abc", "0" * 31, "00" * 65, "illness spike", "illness " * 12])
def test_what_is_no_seed_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(InvalidSeed) as caught:
        read_seed(text)
    assert not text or text not in str(caught.value)


@pytest.mark.parametrize("index", [-1, 2**31])
def test_an_index_that_cannot_be_hardened_is_refused(index: int) -> None:
    with pytest.raises(ValueError, match="out of range"):
        AccountKeys(bytes(32)).raw_seed(index)


async def test_signatures_verify_under_the_account_s_key() -> None:
    funding = Keypair.random()
    keyring = LocalKeyring(SEED_HEX, [funding.secret])
    digest = bytes(range(32))
    channel = keyring.channel(1, VECTORS[0][1][1])
    Keypair.from_public_key(channel.address).verify(digest, await channel.sign(digest))
    funding.verify(digest, await keyring.funding(funding.public_key).sign(digest))


def test_a_channel_of_another_seed_is_refused() -> None:
    keyring = LocalKeyring("00" * 32, [Keypair.random().secret])
    with pytest.raises(KeyMissing, match="another seed"):
        keyring.channel(1, VECTORS[0][1][1])


def test_a_funding_account_without_secret_is_refused() -> None:
    keyring = LocalKeyring("00" * 32, [Keypair.random().secret])
    stranger = Keypair.random().public_key
    with pytest.raises(KeyMissing, match=stranger):
        keyring.funding(stranger)


def test_bad_keys_are_named_by_place_and_never_shown() -> None:
    good = Keypair.random().secret
    bad = good[:-1] + ("A" if good[-1] != "A" else "B")
    with pytest.raises(InvalidKey, match="number 2") as caught:
        LocalKeyring("00" * 32, [good, bad])
    assert bad not in str(caught.value)
    with pytest.raises(InvalidKey, match="no funding secret"):
        LocalKeyring("00" * 32, [])
    with pytest.raises(InvalidKey, match="channel seed"):
        LocalKeyring("some words", [good])


def test_keyrings_and_signers_show_no_secret() -> None:
    funding = Keypair.random()
    keyring = LocalKeyring(SEED_HEX, [funding.secret])
    assert funding.secret not in repr(keyring)
    assert repr(keyring.funding(funding.public_key)) == f"LocalSigner({funding.public_key})"
